import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';
import type { UiChunk } from '../../../../../src/cloudflare/wire/protocols/ui/chunk.ts';

/** The fields of a client’s message that tests use. */
export interface SeenMessage {
	readonly id: string;
	readonly role: string;
	readonly metadata?: unknown;
	readonly parts: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[];
}

/** Builds the message with a published version of the client. Throws if the client refuses a chunk. */
type Reading = (chunks: readonly UiChunk[]) => Promise<SeenMessage | undefined>;

export const readings: Readonly<Record<5 | 6 | 7, Reading>> = {
	5: async (chunks) => {
		const stream = ai5.simulateReadableStream<ai5.UIMessageChunk>({ chunks: await accepted(ai5, chunks), ...atOnce });
		return last(ai5.readUIMessageStream({ stream, terminateOnError: true }));
	},
	6: async (chunks) => {
		const stream = ai6.simulateReadableStream<ai6.UIMessageChunk>({ chunks: await accepted(ai6, chunks), ...atOnce });
		return last(ai6.readUIMessageStream({ stream, terminateOnError: true }));
	},
	7: async (chunks) => {
		const stream = ai7.simulateReadableStream<ai7.UIMessageChunk>({ chunks: await accepted(ai7, chunks), ...atOnce });
		return last(ai7.readUIMessageStream({ stream, terminateOnError: true }));
	},
};

const atOnce = { initialDelayInMs: null, chunkDelayInMs: null };

type Validation<C> = { readonly success: true; readonly value: C } | { readonly success: false; readonly error: Error };

interface Schema<C> {
	readonly validate?: (value: unknown) => Validation<C> | PromiseLike<Validation<C>>;
}

async function accepted<C>(
	{ uiMessageChunkSchema }: { readonly uiMessageChunkSchema: Schema<C> | (() => Schema<C>) },
	chunks: readonly UiChunk[],
): Promise<C[]> {
	const schema = typeof uiMessageChunkSchema === 'function' ? uiMessageChunkSchema() : uiMessageChunkSchema;
	return Promise.all(
		chunks.map(async (chunk) => {
			const read = await schema.validate?.(JSON.parse(JSON.stringify(chunk)));
			if (read?.success !== true) throw new Error(`not accepted: ${JSON.stringify(chunk)}`);
			return read.value;
		}),
	);
}

async function last(messages: AsyncIterable<SeenMessage>): Promise<SeenMessage | undefined> {
	let newest: SeenMessage | undefined;
	for await (const message of messages) newest = message;
	return newest && structuredClone(newest);
}
