/** The protobuf descriptor of a table's rows, as the Storage Write API takes it (`ProtoSchema.proto_descriptor`). */

export interface RowDescriptor {
  /** A serialized `google.protobuf.DescriptorProto`, self-contained, proto2. */
  readonly bytes: Buffer;
  /** The same as JSON, for `map --descriptor`. */
  readonly json: object;
}
