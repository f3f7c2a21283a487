import { RunletError } from '../../../core/base/errors.ts';
import { type MessagePart, textPart } from '../../../core/base/part.ts';
import { truncateText } from '../../../core/base/text.ts';
import { longestResult, toMediaPart, toPartsResult } from '../../../core/tool/server-parts.ts';
import type { Part, Task } from './remote.ts';

/** The maximum length of what an agent asks a person, or says of its progress or its failure, in characters. */
const longestSaid = 2_000;

/** What a task came to. A task of another state is still open. */
const ends: Readonly<Record<string, 'completed' | 'failed' | 'asks'>> = {
	TASK_STATE_COMPLETED: 'completed',
	TASK_STATE_FAILED: 'failed',
	TASK_STATE_CANCELED: 'failed',
	TASK_STATE_REJECTED: 'failed',
	TASK_STATE_INPUT_REQUIRED: 'asks',
	TASK_STATE_AUTH_REQUIRED: 'asks',
};

export function findEnd({ status: { state } }: Task) {
	return Object.hasOwn(ends, state) ? ends[state] : undefined;
}

/** Returns the text of a task's status: its progress, its question, or why it failed. */
export function readStatusText({ status }: Task): string {
	const said = (status.message?.parts ?? []).flatMap(({ text }) => text ?? []).join('\n');
	return truncateText(said.trim(), longestSaid);
}

/** Returns the result of a task that ended. Throws `invalid_request`, which says why, for one that failed. */
export function readTaskResult(name: string, task: Task): unknown {
	if (findEnd(task) === 'completed') {
		const made = task.artifacts.flatMap(({ parts }) => parts);
		return readParts(made.length > 0 ? made : (task.status.message?.parts ?? []));
	}
	const state = task.status.state.slice('TASK_STATE_'.length).toLowerCase();
	const why = readStatusText(task) || 'It does not say why.';
	throw new RunletError('invalid_request', `${name}: the agent's task is ${state}. ${why}`);
}

/** Returns the parts of an answer: JSON if that is all, else a text or parts. */
export function readParts(parts: readonly Part[]): unknown {
	const [first] = parts;
	if (parts.length === 1 && first?.data !== undefined && JSON.stringify(first.data).length <= longestResult)
		return first.data;
	return toPartsResult(parts.map(toPart), 'The agent answered without content.');
}

function toPart({ text, raw, url, data, filename, mediaType }: Part): MessagePart {
	if (typeof text === 'string') return textPart(text);
	const about = { mime: mediaType || undefined, name: filename || undefined };
	if (typeof raw === 'string') {
		const [kind] = /^(image|audio)(?=\/)/.exec(mediaType ?? '') ?? [];
		return toMediaPart(kind === 'image' || kind === 'audio' ? kind : 'file', raw, about);
	}
	if (typeof url === 'string') return textPart(`[File ${[filename, url, mediaType].filter(Boolean).join(', ')}]`);
	return textPart(data === undefined ? '[The agent sent content of an unknown kind.]' : JSON.stringify(data));
}
