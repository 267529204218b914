import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Reads messages with Kafka's own classes, until its input ends.
 *
 * <p>Each line asks: class name, version, body as hexadecimal text. Each line answers: the body
 * as Kafka writes what it has read, how many bytes it left unread, and the content as JSON; or
 * "ERROR" and the reason.
 */
public class MessageOracle {
    private static final String PACKAGE = "org.apache.kafka.common.message.";

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream answers =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] question = line.split(" ", -1);
            short version = Short.parseShort(question[1]);
            answers.println(answer(question[0], version, HexFormat.of().parseHex(question[2])));
        }
    }

    private static String answer(String name, short version, byte[] body) {
        try {
            Class<?> type = Class.forName(PACKAGE + name + "Data");
            Message message = (Message) type.getConstructor().newInstance();
            ByteBufferAccessor input = new ByteBufferAccessor(ByteBuffer.wrap(body));
            message.read(input, version);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            byte[] written = new byte[message.size(cache, version)];
            message.write(new ByteBufferAccessor(ByteBuffer.wrap(written)), cache, version);
            JsonNode content = (JsonNode) Class.forName(PACKAGE + name + "DataJsonConverter")
                .getMethod("write", type, short.class, boolean.class)
                .invoke(null, message, version, false);
            return HexFormat.of().formatHex(written) + " " + input.remaining() + " " + content;
        } catch (ReflectiveOperationException | RuntimeException exception) {
            return "ERROR " + exception.toString().replace('\n', ' ');
        }
    }
}
