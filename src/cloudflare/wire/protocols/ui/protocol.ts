import { toResponse, toRunletError } from '../../../../core/base/errors.ts';
import type { Protocol } from '../protocol.ts';
import { toUiSse, type UiMessageHead, UiWriter, uiStreamEnd } from './writer.ts';

/** The headers by which clients recognise a UI message stream. */
export const uiHeaders = { 'x-vercel-ai-ui-message-stream': 'v1' } as const;

/** The protocol of AI SDK pages. The client shows the body of a failed response as the error message. */
export function uiProtocol(headOf: (run: number) => UiMessageHead): Protocol {
	return {
		headers: uiHeaders,
		writer: (run) => {
			let writer: UiWriter | undefined;
			return {
				event: (event) => {
					writer ??= new UiWriter(headOf(run));
					return writer.write(event).map(toUiSse).join('');
				},
				end: () => uiStreamEnd,
			};
		},
		closed: ({ message: errorText }) => toUiSse({ type: 'error', errorText }) + uiStreamEnd,
	};
}

/**
 * Returns the stream of an answer that has nothing new.
 *
 * @param isWaiting whether calls of the answer wait. If none waits, an empty step comes last: without it, a client that
 * posts when all calls are answered would post in an endless loop
 */
export function uiNothing(isWaiting: boolean): string {
	const step = isWaiting ? [] : ([{ type: 'start-step' }, { type: 'finish-step' }] as const);
	const chunks = [{ type: 'start' }, ...step, { type: 'finish', finishReason: 'stop' }] as const;
	return chunks.map(toUiSse).join('') + uiStreamEnd;
}

export function uiFailure(thrown: unknown): Response {
	const { status, headers } = toResponse(thrown);
	const own = new Headers(headers);
	own.set('content-type', 'text/plain; charset=utf-8');
	return new Response(toRunletError(thrown).message, { status, headers: own });
}
