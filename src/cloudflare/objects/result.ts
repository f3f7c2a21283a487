import { type ErrorBody, RunletError, toErrorBody, toRunletError } from '../../core/base/errors.ts';
import { logUnexpected } from '../log.ts';

/** An answer over RPC. A thrown error would lose its class and its code there, so a failure is plain data. */
export type RpcResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Failure };

export type Failure = ErrorBody['error'];

/** Does the work of a method of an object. Never rejects. Logs unexpected errors, because their causes stay here. */
export async function toRpcResult<T>(work: () => Promise<T>): Promise<RpcResult<T>> {
	try {
		return { ok: true, value: await work() };
	} catch (error) {
		logUnexpected(error);
		return { ok: false, error: toFailure(toRunletError(error)) };
	}
}

/** Throws the failure of a result, without its cause. */
export function takeValue<T>(result: RpcResult<T>): T {
	// A result keeps its object alive until it is disposed of. A stream in it stays open.
	const dispose: unknown = Reflect.get(result, Symbol.dispose);
	if (typeof dispose === 'function') Reflect.apply(dispose, result, []);
	if (result.ok) return result.value;
	throw toError(result.error);
}

export type Bytes = ReadableStream<Uint8Array>;

export function toByteStream(text: string): Bytes {
	return new Blob([text]).stream();
}

export function toJsonStream(value: object): Bytes {
	return toByteStream(JSON.stringify(value));
}

/** Keeps only the JSON of the error's data. */
export function toFailure(error: RunletError): Failure {
	const body: ErrorBody = JSON.parse(JSON.stringify(toErrorBody(error)));
	return body.error;
}

export function toError({ code, message, data }: Failure): RunletError {
	return new RunletError(code, message, data);
}
