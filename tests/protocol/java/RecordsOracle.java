import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/** Reads the records of each argument, in hex; prints offset and timestamp of each, or "error". */
public class RecordsOracle {
    public static void main(String[] arguments) {
        for (String argument : arguments) {
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(argument));
            StringBuilder line = new StringBuilder();
            try {
                for (RecordBatch batch : MemoryRecords.readableRecords(bytes).batches()) {
                    for (Record record : batch) {
                        line.append(record.offset() + "@" + record.timestamp() + " ");
                    }
                }
            } catch (KafkaException error) {
                line.append("error");
            }
            System.out.println(line.toString().strip());
        }
    }
}
