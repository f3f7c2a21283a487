import { RunletError } from '../../core/base/errors.ts';
import type { Run, RunEvent } from '../../core/chat/index.ts';
import { toEventStream } from '../routes/respond.ts';
import { runFailureResponse } from '../wire/protocols/openai/error.ts';
import { chatCompletions } from '../wire/protocols/openai/protocol.ts';
import type { Protocol } from '../wire/protocols/protocol.ts';
import { uiProtocol } from '../wire/protocols/ui/protocol.ts';

export interface UiResponseOptions {
	/** The id of the message that the run writes. If it is missing, the message gets a new id. */
	readonly messageId?: string;
}

/**
 * Streams a run of the library, in a route of your own, to a page that uses `useChat` of the AI SDK. The run has no
 * session, so it ends if the page disconnects.
 */
export function toUiResponse(run: Run, { messageId = crypto.randomUUID() }: UiResponseOptions = {}): Response {
	const head = { messageId, earlier: [], given: [], isContinued: false };
	return streamRun(
		run,
		uiProtocol(() => head),
	);
}

export interface CompletionResponseOptions {
	/** The name of the model in the answer. */
	readonly model: string;
	/** Whether the answer is a stream of chunks. */
	readonly stream?: boolean;
	/** Whether a stream reports the usage. */
	readonly includeUsage?: boolean;
}

/** Answers an OpenAI client with a run, in a route of your own. The answer is a completion or a stream of chunks. */
export async function toCompletionResponse(
	run: Run,
	{ model, stream = false, includeUsage = false }: CompletionResponseOptions,
): Promise<Response> {
	const protocol = chatCompletions({ type: 'chat.completions', model, includeUsage, tools: [] });
	if (stream) return streamRun(run, protocol);
	const events: RunEvent[] = [];
	for await (const event of run.events) events.push(event);
	const whole = protocol.result?.(events) ?? { error: new RunletError('internal', 'There is no answer.') };
	return 'error' in whole ? runFailureResponse(whole.error) : Response.json(whole.completion);
}

/** Streams a run in the form of a protocol. If the stream is cancelled, the run is cancelled, too. */
function streamRun({ events }: Run, { writer: createWriter, headers }: Protocol): Response {
	const iterator = events[Symbol.asyncIterator]();
	const writer = createWriter(1);
	const encoder = new TextEncoder();
	const body = new ReadableStream<Uint8Array>({
		pull: async (controller) => {
			// The loop skips events without text: the stream calls `pull` again only after something was enqueued.
			for (;;) {
				const { value, done } = await iterator.next();
				const text = done ? writer.end() : writer.event(value, undefined);
				if (text !== '') controller.enqueue(encoder.encode(text));
				if (done) return controller.close();
				if (text !== '') return;
			}
		},
		cancel: async () => void (await iterator.return?.()),
	});
	return toEventStream(body, headers);
}
