import { RunletError, toErrorHeaders } from '../../../../core/base/errors.ts';
import { type RpcError, type RpcId, rpcCodes } from './rpc.ts';

type CodeName = keyof typeof rpcCodes;

/** Creates an error of A2A. */
export function createRpcError(name: CodeName, message: string, field?: string): RunletError {
	return new RunletError('invalid_request', message, { rpc: name, ...(field !== undefined && { field }) });
}

/** Answers a request with an error. Refused callers and failures of the server also have an HTTP status. */
export function toFailure(error: RunletError, id: RpcId = null): Response {
	const name = findName(error);
	const isOfProtocol = name !== 'otherError' && name !== 'internalError';
	const how = isOfProtocol ? { status: 200 } : { status: error.status, headers: toErrorHeaders(error) };
	return Response.json({ jsonrpc: '2.0', id, error: toRpcError(error) }, how);
}

/** Returns an error in the form of JSON-RPC (specification of A2A, 9.5). */
export function toRpcError(error: RunletError): RpcError {
	const name = findName(error);
	const own = name === 'otherError' ? error.code : name.replace(/[A-Z]/g, '_$&');
	const info = { reason: own.toUpperCase(), domain: 'a2a-protocol.org', metadata: { code: error.code } };
	const details: object[] = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', ...info }];
	const { message } = error;
	if (typeof error.data?.field === 'string') {
		const fieldViolations = [{ field: error.data.field, description: message }];
		details.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations });
	}
	return { code: rpcCodes[name], message, data: details };
}

const namesOfCodes: Readonly<Record<string, CodeName>> = {
	invalid_request: 'invalidParams',
	invalid_argument: 'invalidParams',
	not_found: 'taskNotFound',
	conflict: 'unsupportedOperation',
	awaiting_tools: 'unsupportedOperation',
	awaiting_user: 'unsupportedOperation',
	internal: 'internalError',
};

function findName({ code, data }: RunletError): CodeName {
	const own = Object.keys(rpcCodes).find((name): name is CodeName => name === data?.rpc);
	// An agent that does not exist is no task.
	const isAgent = code === 'not_found' && data?.field !== undefined;
	return own ?? (isAgent ? 'otherError' : (namesOfCodes[code] ?? 'otherError'));
}

/** Answers a request whose body or caller is refused. */
export function toRefusal(error: RunletError): Response {
	if (error.code !== 'invalid_request') return toFailure(error);
	const isJson = !error.message.startsWith('body: not valid JSON');
	return toFailure(createRpcError(isJson ? 'invalidRequest' : 'parseError', error.message));
}
