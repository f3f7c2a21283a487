import type * as v from 'valibot';
import type { Right } from '../auth/rights.ts';

/**
 * Who may call: anybody, a sender with a signature, every caller with a valid credential, holders of a right, or keys with
 * the scope `admin` or `keys`.
 */
export type Access = 'anybody' | 'sender' | 'caller' | Right | 'admin' | 'keys';

/**
 * An endpoint of the API: what the Worker needs of an operation to answer its requests. The operation of the same name
 * (`operations/`) adds the texts and the answers of the OpenAPI document, which the Worker does not bundle.
 */
export interface Endpoint {
	readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
	/** The path in the router's form, such as `/v1/sessions/:id`. */
	readonly path: string;
	readonly access: Access;
	/** Whether a key with the scope `admin` may call the endpoint for every owner. */
	readonly adminToo?: true;
	readonly query?: v.GenericSchema<unknown, object> & { readonly entries: Readonly<Record<string, v.GenericSchema>> };
	/** Whether unknown query parameters are ignored: webhook senders, browsers and other protocols add their own. */
	readonly ignoresQuery?: true;
	readonly json?: v.GenericSchema<unknown, object>;
	/** Whether the body may name uploaded files by their ids (docs/files.md, "Files by id"). */
	readonly namesFiles?: true;
}

/** Defines an endpoint, and keeps the types of its path and its schemas. */
export const createEndpoint = <
	const M extends Endpoint['method'],
	const P extends string,
	const E extends Omit<Endpoint, 'method' | 'path'>,
>(
	method: M,
	path: P,
	rest: E,
): E & { readonly method: M; readonly path: P } => ({ ...rest, method, path });

/** The path parameters whose values may have slashes. */
export const parametersWithSlashes: readonly string[] = ['memory', 'path'];
