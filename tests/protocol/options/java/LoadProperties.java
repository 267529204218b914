import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.TreeMap;

/** Prints the properties of each file 0, 1, ... of a folder: a line of name=value in UTF-16 as hex. */
public final class LoadProperties {
    public static void main(String[] arguments) throws Exception {
        StringBuilder out = new StringBuilder();
        for (int number = 0; number < Integer.parseInt(arguments[1]); number++) {
            Path file = Path.of(arguments[0], Integer.toString(number));
            try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
                Properties properties = new Properties();
                properties.load(reader);
                for (var each : new TreeMap<>(properties).entrySet()) {
                    out.append(hex(each.getKey())).append('=').append(hex(each.getValue())).append(' ');
                }
            } catch (IllegalArgumentException malformed) {
                out.append("malformed");
            }
            out.append('\n');
        }
        System.out.print(out);
    }

    private static String hex(Object text) {
        StringBuilder out = new StringBuilder();
        for (char each : text.toString().toCharArray()) {
            out.append(String.format("%04x", (int) each));
        }
        return out.toString();
    }
}
