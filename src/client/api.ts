import type { Hono } from 'hono';
import type { ClientErrorStatusCode, ServerErrorStatusCode } from 'hono/utils/http-status';
import type * as v from 'valibot';
import type { errorBody } from '../cloudflare/wire/error.ts';
import type { Operation } from '../cloudflare/wire/operation.ts';
import type * as operations from '../cloudflare/wire/operations/index.ts';

/** The API in the form that Hono's client needs: `hc<Api>('https://…')`. */
export type Api = Hono<object, Routes, '/'>;

type Operations = (typeof operations)[keyof typeof operations];

type Routes = {
	[P in Operations['path']]: {
		[O in Extract<Operations, { readonly path: P }> as `$${O['method']}`]: EndpointOf<O>;
	};
};

type EndpointOf<O extends Operation> =
	| {
			[S in keyof O['answers'] & number]: { input: InputOf<O>; status: S } & OutputOf<O['answers'][S]>;
	  }[keyof O['answers'] & number]
	| {
			input: InputOf<O>;
			status: ClientErrorStatusCode | ServerErrorStatusCode;
			output: v.InferOutput<typeof errorBody>;
			outputFormat: 'json';
	  };

type OutputOf<A> = A extends { readonly json: infer S extends v.GenericSchema }
	? { output: v.InferOutput<S>; outputFormat: 'json' }
	: { output: string; outputFormat: 'body' };

/** A body has its schema's output type, because the input type can be `unknown`. A query has the input type: text. */
type InputOf<O extends Operation> = PathOf<O['path']> &
	(O extends { readonly json: infer S extends v.GenericSchema } ? { json: v.InferOutput<S> } : object) &
	(O extends { readonly query: infer S extends v.GenericSchema } ? { query?: v.InferInput<S> } : object) &
	(O extends { readonly headers: readonly (infer H extends string)[] } ? { header?: { [K in H]?: string } } : object);

type PathOf<P extends string> = [NamesIn<P>] extends [never] ? object : { param: { [N in NamesIn<P>]: string } };

type NamesIn<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
	? Name | NamesIn<Rest>
	: P extends `${string}:${infer Name}`
		? Name
		: never;
