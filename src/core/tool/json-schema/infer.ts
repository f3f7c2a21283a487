import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonSchema } from './keywords.ts';

/**
 * The type of the values that a JSON Schema literal describes, by its types, properties, items, enums, constants and
 * choices. If a schema has only other keywords, such as a reference, the type is `unknown`.
 */
export type FromJsonSchema<S> = S extends { readonly const: infer C }
	? C
	: S extends { readonly enum: readonly (infer E)[] }
		? E
		: S extends { readonly anyOf: readonly (infer O)[] } | { readonly oneOf: readonly (infer O)[] }
			? FromJsonSchema<O>
			: S extends { readonly type: infer T }
				? FromType<S, T>
				: unknown;

type FromType<S, T> = T extends readonly (infer One)[]
	? FromType<S, One>
	: T extends 'string'
		? string
		: T extends 'number' | 'integer'
			? number
			: T extends 'boolean'
				? boolean
				: T extends 'null'
					? null
					: T extends 'array'
						? FromArray<S>
						: T extends 'object'
							? FromObject<S>
							: unknown;

type FromArray<S> = S extends { readonly prefixItems: unknown }
	? unknown[]
	: S extends { readonly items: infer I }
		? FromJsonSchema<I>[]
		: unknown[];

type FromObject<S> = S extends { readonly properties: infer P }
	? Flat<
			{ -readonly [K in keyof P as K extends NamesOf<S> ? K : never]: FromJsonSchema<P[K]> } & {
				-readonly [K in keyof P as K extends NamesOf<S> ? never : K]?: FromJsonSchema<P[K]>;
			}
		>
	: Record<string, unknown>;

type NamesOf<S> = S extends { readonly required: readonly (infer N)[] } ? N : never;

type Flat<T> = { [K in keyof T]: T[K] };

/** The type of the values that a schema describes: a valibot, Zod or ArkType schema, or a JSON Schema literal. */
export type FromAnySchema<S> = S extends StandardSchemaV1
	? StandardSchemaV1.InferOutput<S>
	: S extends JsonSchema
		? FromJsonSchema<S>
		: unknown;

/** The type of a tool's checked input: an object. If the type is unknown, so are the object's fields. */
export type InputOf<S> = unknown extends FromAnySchema<S> ? Record<string, unknown> : FromAnySchema<S>;
