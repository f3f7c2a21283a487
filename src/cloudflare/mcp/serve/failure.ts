import { RunletError, toRunletError } from '../../../core/base/errors.ts';
import { logUnexpected } from '../../log.ts';
import { toError } from '../../objects/reach.ts';
import { type Reader, showError } from '../../wire/shown-error.ts';
import { ProtocolError, ProtocolErrorCode } from './sdk.ts';

/** Turns an error into a protocol error. Its data contains Runlet's own error code. */
function toProtocolError(thrown: unknown, reader: Reader): ProtocolError {
	const { code, message, data, status } = toError(showError(toRunletError(thrown), reader));
	const rpcCode = status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
	return new ProtocolError(rpcCode, message, { ...data, code });
}

export function createInvalid(message: string): RunletError {
	return new RunletError('invalid_request', message);
}

/** Runs `work`, and turns what it throws into protocol errors. These show only what the reader is allowed to see. */
export async function orProtocolError<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (thrown) {
		if (thrown instanceof ProtocolError) throw thrown;
		logUnexpected(thrown);
		throw toProtocolError(thrown, reader);
	}
}
