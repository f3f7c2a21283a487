import { RunletError, toRunletError } from '../../../core/ground/errors.ts';
import { logUnexpected } from '../../log.ts';
import { ProtocolError, ProtocolErrorCode } from './sdk.ts';

/** Converts an error to one of the protocol, which the client gets as a JSON-RPC error. Its own code is in the data. */
function toProtocolError(thrown: unknown): ProtocolError {
	const { code, message, data, status } = toRunletError(thrown);
	const rpcCode = status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
	return new ProtocolError(rpcCode, message, { ...data, code });
}

/** Creates the error for a request that names something that is not there, or has a field of a wrong form. */
export function createInvalid(message: string): RunletError {
	return new RunletError('invalid_request', message);
}

/** Does the work of a request. Throws the protocol's errors only. */
export async function orProtocolError<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (thrown) {
		if (thrown instanceof ProtocolError) throw thrown;
		logUnexpected(thrown);
		throw toProtocolError(thrown);
	}
}
