import { createParser } from 'eventsource-parser';
import { readUnderKills } from './killing.ts';
import { threeTools } from './script.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/**
 * Cuts the connections of subscribers of tasks at random bytes, and kills the server meanwhile. Each task completes. A
 * subscriber has the answer and the messages of the stored task, each once, whether it subscribes from the beginning or
 * behind its last event.
 */
export function a2a({ count = 200, kills = 100, seed }: Options): Promise<Figures> {
	const world = { script: threeTools(400), pieceLength: 12, paceMs: 10, toolMs: 20, seed };
	return onStage(world, async (stage) => {
		const total = { cuts: 0, tasks: 0, whole: 0 };
		await readUnderKills(stage, { count, kills }, async (place) => {
			const { cuts, isWhole } = await readTask(stage, `task-${place}`);
			total.cuts += cuts;
			total.tasks++;
			total.whole += isWhole ? 1 : 0;
			return cuts;
		});
		const { cuts, tasks, whole } = total;
		return { seed: stage.seed, 'reader cuts': cuts, kills, tasks, 'tasks read to their end': whole };
	});
}

interface Message {
	readonly messageId: string;
	readonly parts: readonly { readonly text?: string; readonly data?: unknown }[];
}

interface Task {
	readonly id: string;
	readonly status: { readonly state: string };
	readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
	readonly history?: readonly (Message & { readonly role: string })[];
}

/** Reads a task to its end. After each cut it subscribes again. */
async function readTask({ client, random }: Stage, tag: string) {
	const parts = [{ text: tag }];
	const message = { messageId: tag, role: 'ROLE_USER', parts };
	const configuration = { returnImmediately: true };
	const { id } = ((await client.callA2a('SendMessage', { message, configuration })) as { task: Task }).task;
	const told = new Map<string, string>();
	let answer = '';
	let last: string | undefined;
	let cuts = 0;
	let isWhole = false;
	const take = ({ data, id: place }: { readonly data: string; readonly id?: string | undefined }): void => {
		const { result, error } = JSON.parse(data);
		if (error !== undefined) throw new Error(`${tag}: ${error.message}`);
		const { artifactUpdate: update, statusUpdate: status } = result;
		if (update !== undefined) {
			const text = update.artifact.parts.map((part: { text: string }) => part.text).join('');
			answer = update.append ? answer + text : text;
		}
		if (status !== undefined && status.status.state === 'TASK_STATE_WORKING')
			told.set(status.status.message.messageId, status.status.message.parts[0].text);
		if (status?.status.state === 'TASK_STATE_COMPLETED') isWhole = true;
		last = place ?? last;
	};
	for (;;) {
		const connection = new AbortController();
		const response = await client.subscribeA2a(id, random(0, 1) === 0 ? undefined : last, connection.signal);
		// The task has ended.
		if (response.headers.get('content-type') !== 'text/event-stream') break;
		const parser = createParser({ onEvent: take });
		const decoder = new TextDecoder();
		let room = random(1, 12_000);
		const body = response.body?.getReader();
		while (room > 0 && !isWhole) {
			// A kill ends the body with an error.
			const { value } = (await body?.read().catch(() => undefined)) ?? {};
			if (value === undefined) break;
			parser.feed(decoder.decode(value.subarray(0, room), { stream: true }));
			room -= value.length;
		}
		await body?.cancel().catch(() => {});
		connection.abort();
		if (isWhole) break;
		if (room <= 0) cuts++;
	}
	const task = (await client.callA2a('GetTask', { id })) as Task;
	if (task.status.state !== 'TASK_STATE_COMPLETED') throw new Error(`${tag} is ${task.status.state}`);
	const stored = task.artifacts?.[0]?.parts.map(({ text }) => text).join('');
	const said = task.history?.filter(({ role }) => role === 'ROLE_AGENT').map(({ parts: all }) => all[0]?.text) ?? [];
	if (isWhole && answer !== stored) throw new Error(`${tag}: the answer read is ${answer}, and stored is ${stored}`);
	const read = [...told.values()];
	const isSame = isWhole ? JSON.stringify(read) === JSON.stringify(said) : read.every((text, n) => text === said[n]);
	if (!isSame) throw new Error(`${tag}: the messages read are ${read.join(' | ')}, and stored are ${said.join(' | ')}`);
	return { cuts, isWhole };
}
