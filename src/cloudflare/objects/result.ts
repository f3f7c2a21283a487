import { type ErrorBody, RunletError, toErrorBody, toRunletError } from '../../core/base/errors.ts';
import { logUnexpected } from '../log.ts';

/**
 * What an object answers to a call: a value, or why there is none. An error that is thrown over RPC loses its class and
 * its code, so a failure travels as plain data.
 */
export type RpcResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Failure };

export type Failure = ErrorBody['error'];

/** Does the work of an object's method. Never rejects. Logs what is Runlet's own fault, since the cause stays here. */
export async function toRpcResult<T>(work: () => Promise<T>): Promise<RpcResult<T>> {
	try {
		return { ok: true, value: await work() };
	} catch (error) {
		logUnexpected(error);
		return { ok: false, error: toFailure(toRunletError(error)) };
	}
}

/** The value of a result. Throws its failure as a `RunletError` without a cause. */
export function takeValue<T>(result: RpcResult<T>): T {
	// A result holds on to its object until it is disposed of. A stream in it belongs to the caller and stays open.
	const dispose: unknown = Reflect.get(result, Symbol.dispose);
	if (typeof dispose === 'function') Reflect.apply(dispose, result, []);
	if (result.ok) return result.value;
	throw toError(result.error);
}

/** Bytes from an object to the client, or from the client to it. No JavaScript of the Worker reads them in between. */
export type Bytes = ReadableStream<Uint8Array>;

/** A text as bytes that go to the client as they are. */
export function toByteStream(text: string): Bytes {
	return new Blob([text]).stream();
}

export function toJsonStream(value: object): Bytes {
	return toByteStream(JSON.stringify(value));
}

/** An error as plain data. What its data holds beside JSON could not travel. */
export function toFailure(error: RunletError): Failure {
	const body: ErrorBody = JSON.parse(JSON.stringify(toErrorBody(error)));
	return body.error;
}

/** The error again, without its cause. */
export function toError({ code, message, data }: Failure): RunletError {
	return new RunletError(code, message, data);
}
