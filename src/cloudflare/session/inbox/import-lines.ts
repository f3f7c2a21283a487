import { RunletError } from '../../../core/ground/errors.ts';
import { LineSplitter } from '../../../core/ground/text.ts';
import type { Bytes } from '../../objects/result.ts';
import { maxLine } from '../../wire/import.ts';

/** Yields the lines of a body. Refuses a body that its sender breaks off. */
export async function* readLines(bytes: Bytes): AsyncGenerator<string, void> {
	const reader = bytes.getReader();
	const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
	const splitter = new LineSplitter();
	try {
		for (;;) {
			const { done, value } = await read(reader, decoder);
			if (done) break;
			yield* splitter.push(value);
			if (splitter.length > maxLine)
				throw new RunletError('too_large', `body: a line has more than ${maxLine} characters.`, { field: 'body' });
		}
		const last = splitter.end();
		if (last !== '') yield last;
	} finally {
		reader.cancel().catch(() => {});
	}
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, decoder: TextDecoder) {
	try {
		const { done, value } = await reader.read();
		return { done, value: done ? '' : decoder.decode(value, { stream: true }) };
	} catch (cause) {
		const message = 'body: ended before it was whole, or is not UTF-8. Send it again.';
		throw new RunletError('invalid_request', message, { field: 'body' }, { cause });
	}
}
