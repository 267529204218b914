import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.common.config.ConfigTransformer;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.common.config.provider.DirectoryConfigProvider;
import org.apache.kafka.common.config.provider.EnvVarConfigProvider;
import org.apache.kafka.common.config.provider.FileConfigProvider;

/**
 * Resolves references with Kafka's own config providers: a file with a text in each line, in
 * hexadecimal digits; the allowlist of the environment; the allowed paths. Prints each text, or
 * "refused" and the class of the exception.
 */
public class ResolveReferences {
    public static void main(String[] arguments) throws Exception {
        ConfigProvider env = new EnvVarConfigProvider();
        env.configure(Map.of("allowlist.pattern", arguments[1]));
        Map<String, String> limits = Map.of("allowed.paths", arguments[2]);
        ConfigProvider file = new FileConfigProvider();
        file.configure(limits);
        ConfigProvider directory = new DirectoryConfigProvider();
        directory.configure(limits);
        ConfigTransformer transformer =
            new ConfigTransformer(Map.of("env", env, "file", file, "directory", directory));
        HexFormat hex = HexFormat.of();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String text = new String(hex.parseHex(line), StandardCharsets.UTF_8);
            try {
                String value = transformer.transform(Map.of("k", text)).data().get("k");
                System.out.println(hex.formatHex(value.getBytes(StandardCharsets.UTF_8)));
            } catch (RuntimeException refused) {
                System.out.println("refused " + refused.getClass().getSimpleName());
            }
        }
    }
}
