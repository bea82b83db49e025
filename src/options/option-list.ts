/** Every documented option of a configuration, read off its zod schema: for documentation, editors and hints. */
import { z } from "zod";

export interface Option {
  /** `[]` stands for a place in a list, `PATH` for a key of the user's own. */
  readonly path: readonly string[];
  readonly description: string;
  /** Type and bounds, for a person. */
  readonly form: string;
  /** As the file would write it; undefined when there is none. */
  readonly initial: unknown;
  readonly required: boolean;
}

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The JSON Schema of what the file may hold; hidden options are left out. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ jsonSchema }) {
      for (const [name, property] of Object.entries(jsonSchema.properties ?? {})) {
        if (typeof property === "object" && property["hidden"]) delete jsonSchema.properties![name];
      }
    },
  });
}

/** In the order of the description; of maps and lists themselves only those that are off unless named are options. */
export function listOptions(schema: z.ZodType): Option[] {
  return optionsOf(jsonSchemaOf(schema), [], true);
}

function optionsOf(schema: JsonSchema, path: readonly string[], required: boolean): Option[] {
  if (schema.properties) {
    const inner = Object.entries(schema.properties).flatMap(([name, property]) =>
      optionsOf(property as JsonSchema, [...path, name], schema.required?.includes(name) ?? false),
    );
    return isOff(schema) ? [{ ...optionOf(schema, path, required), initial: "null" }, ...inner] : inner;
  }
  if (schema.items) return optionsOf(schema.items as JsonSchema, [...path, "[]"], required);
  if (typeof schema.additionalProperties === "object") {
    return optionsOf(schema.additionalProperties, [...path, "PATH"], false);
  }
  return [optionOf(schema, path, required)];
}

/** A map that is off unless the file names it. */
export function isOff(schema: JsonSchema): boolean {
  return schema.properties !== undefined && schema["form"] !== undefined;
}

function optionOf(schema: JsonSchema, path: readonly string[], required: boolean): Option {
  const { description = "", default: initial, form } = schema as JsonSchema & { readonly form?: string };
  return { path, description, form: form ?? "", initial, required };
}
