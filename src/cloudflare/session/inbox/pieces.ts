import { close } from '../../../core/chat/event.ts';
import type { Authorization } from './transaction.ts';

/** The length of a piece of a stream, in characters. */
export const pieceLength = 65_536;

/** Streams texts at the pace of the reader. The stream fails if the session is removed before its end. */
export function toPieceStream(
	texts: AsyncGenerator<string> | Generator<string>,
	authorization: Pick<Authorization, 'isThere'>,
): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	return new ReadableStream({
		type: 'bytes',
		pull: async (controller) => {
			let piece = '';
			while (piece.length < pieceLength) {
				if (!authorization.isThere) throw new Error('The session was removed.');
				const { done, value } = await texts.next();
				if (done) break;
				piece += value;
			}
			if (piece === '') close(controller);
			else controller.enqueue(encoder.encode(piece));
		},
		cancel: async () => void (await texts.return(undefined)),
	});
}
