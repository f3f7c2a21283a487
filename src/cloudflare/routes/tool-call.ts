import { RunletError, toErrorBody, toRunletError } from '../../core/base/errors.ts';
import { log, logUnexpected, toFailureFields } from '../log.ts';
import { type OutsideAnswer, type OutsideLine, readLines } from '../objects/outside-call.ts';
import { type Bytes, toError } from '../objects/reach.ts';
import type { Shown } from '../wire/operation.ts';
import { type Reader, showError } from '../wire/shown-error.ts';
import type { ToolCallBody, toolCallEnd } from '../wire/tool-call.ts';

type Answer = NonNullable<ToolCallBody['answer']>;
type End = Shown<typeof toolCallEnd>;

export function toOutsideAnswer({ waiting, approve, output }: Answer): OutsideAnswer & { readonly waiting: string } {
	if (approve === undefined) return { waiting, gives: 'value', value: output };
	return { waiting, gives: approve ? 'permission' : 'refusal' };
}

/** The maximum number of notes in an answer. */
const mostNotes = 100;
const beat = { type: 'beat' } as const;

/** Writes the end of a call as JSON. Throws a failure of the first second. Later failures are part of the answer. */
export async function writeCall(lines: Bytes, tool: string, reader: Reader): Promise<AsyncGenerator<string, void>> {
	const pieces = writeEnd(lines, tool);
	const { value: first = '' } = await pieces.next();
	return goOn(first, pieces, reader);
}

/** Spaces before the JSON keep the connection open while the call runs. They also show when the reader has left. */
async function* writeEnd(lines: Bytes, tool: string): AsyncGenerator<string, void> {
	const notes: { readonly label: string; readonly detail?: string }[] = [];
	const toText = (end: End): string => JSON.stringify(end);
	for await (const line of readUntilCut(lines)) {
		if (line.type === 'beat') yield ' ';
		else if (line.type === 'failed') throw new RunletError(line.code, line.message, line.data);
		else if (line.type === 'result') return yield toText({ ...line, notes });
		else if (line.type === 'waits' && line.waiting !== undefined)
			return yield toText({ ...line, waiting: line.waiting, notes });
		else if (line.type === 'note' && notes.length < mostNotes) notes.push({ label: line.label, detail: line.detail });
	}
	throw new RunletError('interrupted', `${tool} was cut off, so it is not known whether it was carried out.`);
}

/** Yields the lines of a call. Ends early if the object of the session dies. */
async function* readUntilCut(lines: Bytes): AsyncGenerator<OutsideLine | typeof beat, void> {
	try {
		yield* readLines<OutsideLine | typeof beat>(lines, new AbortController().signal, beat);
	} catch (cause) {
		log('warn', 'tool_call.cut_off', toFailureFields(cause));
	}
}

async function* goOn(
	first: string,
	pieces: AsyncGenerator<string, void>,
	reader: Reader,
): AsyncGenerator<string, void> {
	try {
		yield first;
		yield* pieces;
	} catch (thrown) {
		logUnexpected(thrown);
		const end: End = { type: 'failed', ...toErrorBody(toError(showError(toRunletError(thrown), reader))) };
		yield JSON.stringify(end);
	}
}
