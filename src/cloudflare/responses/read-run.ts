import { RunletError } from '../../core/base/errors.ts';
import { toSse } from '../../core/chat/event.ts';
import type { RunEvent } from '../../core/chat/index.ts';
import type { RunLine } from '../routes/run-lines.ts';
import { withoutRestarted } from '../wire/protocols/pieces.ts';
import type { ResponseEvent, ResponseWriter } from '../wire/protocols/responses/writer.ts';

/** Reads all of a run. Afterwards the writer has the whole response. */
export async function readWhole(lines: AsyncIterable<RunLine>, writer: ResponseWriter): Promise<void> {
	const events: RunEvent[] = [];
	for await (const line of lines) if ('event' in line) events.push(line.event);
	for (const event of withoutRestarted(events)) writer.write(event);
}

/** Writes the events of a response as `text/event-stream`. */
export async function* toEvents(lines: AsyncIterable<RunLine>, writer: ResponseWriter): AsyncGenerator<string> {
	try {
		for await (const line of lines) {
			const text = 'event' in line ? writeAll(writer.write(line.event)) : ': keep-alive\n\n';
			if (text !== '') yield text;
			if (writer.isOver) return;
		}
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		yield writeAll(writer.fail(error));
	}
}

function writeAll(events: readonly ResponseEvent[]): string {
	return events.map((event) => toSse(event)).join('');
}
