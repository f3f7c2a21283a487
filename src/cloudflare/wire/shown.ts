import type * as v from 'valibot';

/** The type of an answer that fits a schema. It is read-only at every depth. */
export type Shown<S extends v.GenericSchema> = Deep<v.InferOutput<S>>;

type Deep<T> = T extends object ? { readonly [K in keyof T]: Deep<T[K]> } : T;
