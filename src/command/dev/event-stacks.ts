import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';

/** How an event of an error of a tool is written in a stream, also within the event of a child. */
const stackEvent = '"type":"tool_stack"';

/** Whether an answer is a stream of events. */
export function isEventStream({ headers }: IncomingMessage): boolean {
	return headers['content-type']?.startsWith('text/event-stream') === true && headers['content-encoding'] === undefined;
}

/** Makes a stream that passes lines as they come, and translates those that hold a stack. */
export function createStackTranslator(translate: (text: string) => string): Transform {
	const decoder = new TextDecoder();
	let rest = '';
	return new Transform({
		transform(chunk: Buffer, _, done) {
			const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
			rest = lines.pop() ?? '';
			const text = lines.map((line) => `${line.includes(stackEvent) ? translate(line) : line}\n`).join('');
			done(null, text === '' ? undefined : text);
		},
		flush(done) {
			done(null, rest + decoder.decode());
		},
	});
}
