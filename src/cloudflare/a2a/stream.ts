import { RunletError } from '../../core/base/errors.ts';
import { toError } from '../objects/reach.ts';
import { getReader } from '../routes/reader.ts';
import type { RunLine } from '../routes/run-lines.ts';
import { toRpcError } from '../wire/protocols/a2a/error.ts';
import type { StreamResponse, Task } from '../wire/protocols/a2a/task.ts';
import type { TaskWriter } from '../wire/protocols/a2a/writer.ts';
import { showError } from '../wire/shown-error.ts';
import type { Call } from './call.ts';

/** A stream of a task: the task as it stands, and the updates of its run. */
export interface Updates {
	readonly task: Task;
	/** Missing if the task waits, so that no update follows. */
	readonly run?: { readonly lines: AsyncIterable<RunLine>; readonly writer: TaskWriter };
}

/** Writes updates as server-sent events. Each has an answer of JSON-RPC, and its place as the id. */
export async function* toUpdates({ c, id }: Pick<Call, 'c' | 'id'>, { task, run }: Updates): AsyncGenerator<string> {
	const write = (answer: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`;
	yield `${write({ result: { task } })}\n`;
	if (run === undefined) return;
	try {
		for await (const line of run.lines) {
			if ('isSilent' in line) yield ': keep-alive\n\n';
			else {
				const updates: StreamResponse[] = run.writer.write(line.event, line.id);
				const last = updates.length - 1;
				const text = updates.map((result, index) => {
					const place = index === last && line.id !== undefined ? `id: ${line.id}\n` : '';
					return `${write({ result })}${place}\n`;
				});
				if (text.length > 0) yield text.join('');
			}
		}
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		yield `${write({ error: toRpcError(toError(showError(error, getReader(c)))) })}\n`;
	}
}
