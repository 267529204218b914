import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;

/** Prints the options of Kafka's consumer and producer, one to a line: whose, name and default. */
public class ConfigNames {
    public static void main(String[] arguments) {
        print("consumer", ConsumerConfig.configDef());
        print("producer", ProducerConfig.configDef());
    }

    private static void print(String client, ConfigDef options) {
        new TreeMap<>(options.configKeys())
            .forEach(
                (name, option) -> System.out.println(client + " " + name + " " + option.defaultValue));
    }
}
