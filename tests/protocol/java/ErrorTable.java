import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RefreshRetriableException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's error codes, one to a line: code, name and the three flags that clients use. */
public class ErrorTable {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            Exception exception = error.exception();
            System.out.printf(
                "%d %s %b %b %b%n",
                error.code(),
                error.name(),
                exception instanceof RetriableException,
                exception instanceof InvalidMetadataException,
                exception instanceof RefreshRetriableException);
        }
    }
}
