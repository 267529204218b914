// Reads pairs of schemas and payloads with Avro's own library: its actions of schema resolution, the
// writer's logical types, and its reader.
//
// A line of input is a list of cases: {"writer": schema, "reader": schema, "payloads": [hex]}, the
// schemas as text. A line of output has for each
//   {"refused": why}                       a schema is invalid, or the default of a field
//   {"notes": [..], "values": [..]}        what is remarkable in the pair, and the payloads
// A value is {"broken": why} or a node: {"t": type, "v": raw} with "w", the writer's logical type, "c",
// its value, and "p", the type it was promoted from; {"branch": number, "of": node}; {"fields": {..}}; {"items": [..]}; {"entries": [..]}.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.avro.Conversion;
import org.apache.avro.Conversions;
import org.apache.avro.LogicalType;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

public class Resolution {
  static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  static final GenericData RAW = new GenericData();
  static final GenericData MEANT = new GenericData();

  static {
    for (Conversion<?> each : new Conversion<?>[] {
        new Conversions.DecimalConversion(), new TimeConversions.DateConversion(),
        new TimeConversions.TimeMillisConversion(), new TimeConversions.TimeMicrosConversion(),
        new TimeConversions.TimestampMillisConversion(), new TimeConversions.TimestampMicrosConversion(),
        new TimeConversions.TimestampNanosConversion(), new TimeConversions.LocalTimestampMillisConversion(),
        new TimeConversions.LocalTimestampMicrosConversion(),
        new TimeConversions.LocalTimestampNanosConversion() }) {
      MEANT.addLogicalTypeConversion(each);
    }
  }

  public static void main(String[] arguments) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ArrayNode answers = JSON.arrayNode();
      for (JsonNode each : mapper.readTree(line)) {
        answers.add(answer(each));
      }
      out.println(mapper.writeValueAsString(answers));
      out.flush();
    }
  }

  static ObjectNode answer(JsonNode asked) throws IOException {
    Schema writer, reader;
    Resolver.Action action;
    TreeSet<String> notes = new TreeSet<>();
    try {
      writer = new Schema.Parser().parse(asked.get("writer").textValue());
      reader = new Schema.Parser().parse(asked.get("reader").textValue());
      action = Resolver.resolve(writer, reader, RAW);
      note(action, notes);
    } catch (RuntimeException error) {
      return JSON.objectNode().put("refused", error.toString());
    }
    ObjectNode answer = JSON.objectNode();
    notes.forEach(answer.putArray("notes")::add);
    ArrayNode values = answer.putArray("values");
    for (JsonNode payload : asked.get("payloads")) {
      values.add(value(action, writer, reader, HexFormat.of().parseHex(payload.textValue())));
    }
    return answer;
  }

  static ObjectNode value(Resolver.Action action, Schema writer, Schema reader, byte[] payload)
      throws IOException {
    Object whole;
    try {
      whole = new GenericDatumReader<Object>(writer, reader, RAW).read(null, decoder(payload));
    } catch (IOException | RuntimeException error) {
      return JSON.objectNode().put("broken", error.toString());
    }
    ObjectNode node = read(action, decoder(payload));
    JsonNode asRead = without(node.deepCopy()), asGeneric = without(node(reader, whole));
    if (!asRead.equals(asGeneric)) {
      throw new IllegalStateException("This program reads " + asRead + ", Avro " + asGeneric);
    }
    return node;
  }

  static BinaryDecoder decoder(byte[] payload) {
    return DecoderFactory.get().binaryDecoder(payload, null);
  }

  /** What is remarkable in a pair: errors, records of other names, other logical types. */
  static void note(Resolver.Action action, TreeSet<String> notes) {
    if (action instanceof Resolver.ErrorAction) {
      notes.add("error " + ((Resolver.ErrorAction) action).error);
    } else if (action instanceof Resolver.Container) {
      note(((Resolver.Container) action).elementAction, notes);
    } else if (action instanceof Resolver.WriterUnion) {
      for (Resolver.Action each : ((Resolver.WriterUnion) action).actions) {
        note(each, notes);
      }
    } else if (action instanceof Resolver.ReaderUnion) {
      note(((Resolver.ReaderUnion) action).actualAction, notes);
    } else if (action instanceof Resolver.RecordAdjust) {
      if (!action.writer.getName().equals(action.reader.getName())) {
        notes.add("record names");
      }
      for (Resolver.Action each : ((Resolver.RecordAdjust) action).fieldActions) {
        note(each, notes);
      }
    } else if (action.reader != null) {
      String written = logical(action.writer), read = logical(action.reader);
      boolean promoted = action instanceof Resolver.Promote;
      if (!written.equals(read) || promoted) {
        notes.add((promoted ? "promoted " : "logical ") + action.writer.getType().getName() + " " + written
            + " " + action.reader.getType().getName() + " " + read);
      }
    }
  }

  static String logical(Schema schema) {
    LogicalType logical = schema.getLogicalType();
    return logical == null ? "-" : logical.getName();
  }

  static ObjectNode read(Resolver.Action action, BinaryDecoder in) throws IOException {
    if (action instanceof Resolver.WriterUnion) {
      Resolver.WriterUnion union = (Resolver.WriterUnion) action;
      int branch = in.readIndex();
      ObjectNode value = read(union.actions[branch], in);
      return union.unionEquiv ? of(branch, value) : value;
    }
    if (action instanceof Resolver.ReaderUnion) {
      Resolver.ReaderUnion union = (Resolver.ReaderUnion) action;
      return of(union.firstMatch, read(union.actualAction, in));
    }
    if (action instanceof Resolver.RecordAdjust) {
      return record((Resolver.RecordAdjust) action, in);
    }
    if (action instanceof Resolver.Container) {
      Resolver.Action item = ((Resolver.Container) action).elementAction;
      boolean isMap = action.writer.getType() == Schema.Type.MAP;
      ObjectNode node = JSON.objectNode();
      ArrayNode items = node.putArray(isMap ? "entries" : "items");
      long count = isMap ? in.readMapStart() : in.readArrayStart();
      for (; count > 0; count = isMap ? in.mapNext() : in.arrayNext()) {
        for (long i = 0; i < count; i++) {
          if (isMap) {
            items.addArray().add(in.readString()).add(read(item, in));
          } else {
            items.add(read(item, in));
          }
        }
      }
      return node;
    }
    if (action instanceof Resolver.EnumAdjust) {
      int number = ((Resolver.EnumAdjust) action).adjustments[in.readEnum()];
      return leaf("enum", action.reader.getEnumSymbols().get(number));
    }
    return leaf(action.writer, action.reader,
        new GenericDatumReader<Object>(action.writer, action.writer, RAW).read(null, in));
  }

  static ObjectNode record(Resolver.RecordAdjust action, BinaryDecoder in) throws IOException {
    ObjectNode node = JSON.objectNode(), fields = node.putObject("fields");
    int place = 0;
    for (Resolver.Action each : action.fieldActions) {
      if (each instanceof Resolver.Skip) {
        GenericDatumReader.skip(each.writer, in);
      } else {
        fields.set(action.readerOrder[place++].name(), read(each, in));
      }
    }
    for (; place < action.readerOrder.length; place++) {
      Schema.Field field = action.readerOrder[place];
      ObjectNode value = node(field.schema(), action.defaults[place - action.firstDefault]);
      fields.set(field.name(), value.put("default", true));
    }
    return node;
  }

  /** A value as Avro's reader gives it. */
  static ObjectNode node(Schema schema, Object value) {
    ObjectNode node = JSON.objectNode();
    switch (schema.getType()) {
      case UNION:
        int branch = RAW.resolveUnion(schema, value);
        return of(branch, node(schema.getTypes().get(branch), value));
      case RECORD:
        ObjectNode fields = node.putObject("fields");
        for (Schema.Field field : schema.getFields()) {
          fields.set(field.name(), node(field.schema(), ((IndexedRecord) value).get(field.pos())));
        }
        return node;
      case ARRAY:
        ArrayNode items = node.putArray("items");
        ((Collection<?>) value).forEach(each -> items.add(node(schema.getElementType(), each)));
        return node;
      case MAP:
        ArrayNode entries = node.putArray("entries");
        ((Map<?, ?>) value).forEach((key, each) ->
            entries.addArray().add(key.toString()).add(node(schema.getValueType(), each)));
        return node;
      case ENUM:
        return leaf("enum", value.toString());
      default:
        return leaf(schema, schema, value);
    }
  }

  static ObjectNode of(int branch, ObjectNode value) {
    ObjectNode node = JSON.objectNode().put("branch", branch);
    node.set("of", value);
    return node;
  }

  static ObjectNode leaf(String type, String value) {
    return JSON.objectNode().put("t", type).put("v", value);
  }

  /** A value without parts, as it was written, in the type of the reader. */
  static ObjectNode leaf(Schema writer, Schema reader, Object value) {
    ObjectNode node = leaf(reader.getType().getName(), raw(reader.getType(), value));
    if (writer.getType() != reader.getType()) {
      node.put("p", writer.getType().getName());
    }
    LogicalType logical = writer.getLogicalType();
    Conversion<?> conversion = logical == null ? null : MEANT.getConversionFor(logical);
    if (logical != null) {
      node.put("w", logical.getName());
    }
    if (conversion != null) {
      try {
        node.put("c", meant(Conversions.convertToLogicalType(value, writer, logical, conversion)));
      } catch (RuntimeException error) {
        node.put("c", error.toString());
      }
    }
    return node;
  }

  static String raw(Schema.Type type, Object value) {
    switch (type) {
      case FLOAT:
        return Integer.toHexString(Float.floatToIntBits(((Number) value).floatValue()));
      case DOUBLE:
        return Long.toHexString(Double.doubleToLongBits(((Number) value).doubleValue()));
      default:
        return value instanceof Number || value instanceof Boolean || value == null
            ? String.valueOf(value) : HexFormat.of().formatHex(bytes(value));
    }
  }

  static byte[] bytes(Object value) {
    if (value instanceof GenericFixed) {
      return ((GenericFixed) value).bytes();
    }
    if (value instanceof ByteBuffer) {
      ByteBuffer buffer = ((ByteBuffer) value).duplicate();
      byte[] copy = new byte[buffer.remaining()];
      buffer.get(copy);
      return copy;
    }
    if (value instanceof org.apache.avro.util.Utf8) {
      org.apache.avro.util.Utf8 text = (org.apache.avro.util.Utf8) value;
      return java.util.Arrays.copyOf(text.getBytes(), text.getByteLength());
    }
    return value.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Digits of a decimal; days of a date; nanoseconds of another time. */
  static String meant(Object value) {
    if (value instanceof BigDecimal) {
      return ((BigDecimal) value).toPlainString();
    }
    if (value instanceof LocalDate) {
      return String.valueOf(((LocalDate) value).toEpochDay());
    }
    if (value instanceof LocalTime) {
      return String.valueOf(((LocalTime) value).toNanoOfDay());
    }
    Instant at = value instanceof Instant ? (Instant) value : ((LocalDateTime) value).toInstant(ZoneOffset.UTC);
    return BigInteger.valueOf(at.getEpochSecond()).multiply(BigInteger.valueOf(1_000_000_000))
        .add(BigInteger.valueOf(at.getNano())).toString();
  }

  /** The node without what Avro's reader does not give: the writer's meaning, the order of entries. */
  static JsonNode without(JsonNode node) {
    if (node instanceof ObjectNode) {
      ((ObjectNode) node).remove(List.of("c", "w", "p", "default"));
      if (node.has("entries")) {
        ObjectNode entries = JSON.objectNode();
        node.get("entries").forEach(each -> entries.set(each.get(0).textValue(), each.get(1)));
        ((ObjectNode) node).set("entries", entries);
      }
    }
    node.forEach(Resolution::without);
    return node;
  }
}
