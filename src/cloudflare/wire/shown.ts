import type * as v from 'valibot';

/** What an answer has to be like that fits a schema: read-only at every depth, as what is shown is not changed. */
export type Shown<S extends v.GenericSchema> = Deep<v.InferOutput<S>>;

type Deep<T> = T extends object ? { readonly [K in keyof T]: Deep<T[K]> } : T;
