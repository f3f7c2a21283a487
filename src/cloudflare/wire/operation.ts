import type * as v from 'valibot';
import type { Right } from '../auth/rights.ts';

/**
 * Who may call an operation: anybody; a sender that signs; whoever has a right in the owner; a key with the scope admin or
 * keys, which hold for all owners.
 */
export type Access = 'anybody' | 'sender' | Right | 'admin' | 'keys';

/** An operation of the API: what its route checks a request by. `descriptions/` says the rest of it, under the same name. */
export interface Operation {
	readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
	/** In the router's form, such as `/v1/sessions/:id`. */
	readonly path: string;
	readonly access: Access;
	/** Whether a key with the scope admin may call it for every owner. */
	readonly adminToo?: true;
	readonly query?: v.GenericSchema<unknown, object> & { readonly entries: Readonly<Record<string, v.GenericSchema>> };
	/**
	 * Whether unknown query parameters are ignored instead of refused: senders of webhooks, clients of other protocols
	 * and browsers that follow a link add their own.
	 */
	readonly ignoresQuery?: true;
	/** The JSON body. */
	readonly json?: v.GenericSchema<unknown, object>;
}

/** Defines an operation and keeps the types of its schemas. */
export function operation<const O extends Operation>(given: O): O {
	return given;
}
