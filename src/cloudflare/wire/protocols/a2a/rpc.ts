import * as v from 'valibot';
import { shortText } from '../../limits.ts';

/** The version of A2A, for the header `A2A-Version` and for agent cards. */
export const protocolVersion = '1.0';

export const rpcId = v.nullable(v.union([shortText(1_000), v.number()]));

/** The body of a request. `rpcRequest` checks it, so that a refusal has the id of the request. */
export const rpcBody = v.object({
	jsonrpc: v.optional(v.unknown()),
	id: v.optional(v.unknown()),
	method: v.optional(v.unknown()),
	params: v.optional(v.unknown()),
});

/** A request of JSON-RPC 2.0. */
export const rpcRequest = v.object({
	jsonrpc: v.literal('2.0'),
	id: v.optional(rpcId, null),
	method: shortText(100),
	params: v.optional(v.pipe(v.record(shortText(100), v.unknown()), v.maxEntries(100)), {}),
});

export type RpcId = v.InferOutput<typeof rpcId>;

const rpcError = v.object({
	code: v.number(),
	message: v.string(),
	data: v.optional(v.unknown()),
});

/** An answer of JSON-RPC 2.0, with a `result` or an `error`. */
export const rpcResponse = v.object({
	jsonrpc: v.literal('2.0'),
	id: rpcId,
	result: v.optional(v.record(v.string(), v.unknown())),
	error: v.optional(rpcError),
});

export type RpcError = v.InferOutput<typeof rpcError>;

/** The codes of errors (specification of A2A, 5.4 and 9.5). */
export const rpcCodes = {
	parseError: -32700,
	invalidRequest: -32600,
	methodNotFound: -32601,
	invalidParams: -32602,
	internalError: -32603,
	/** Any other error. Its `data` has the code of Runlet as `reason`. */
	otherError: -32000,
	taskNotFound: -32001,
	taskNotCancelable: -32002,
	pushNotificationNotSupported: -32003,
	unsupportedOperation: -32004,
	versionNotSupported: -32009,
} as const;
