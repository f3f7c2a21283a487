import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { dropUndefined, isRecord } from '../../../core/base/json.ts';
import type { Ask, Limits } from './ask.ts';
import type { AgentInterface } from './card.ts';

/** How many parts, and how many artifacts, are read of an answer. */
const mostRead = 100;

const text = v.nullish(v.string());
/** A list whose further items are dropped before anything looks at them. */
const cutList = <S extends v.GenericSchema>(item: S) =>
	v.nullish(
		v.pipe(
			v.array(v.unknown()),
			v.transform((list) => list.slice(0, mostRead)),
			v.array(item),
		),
		[],
	);
const part = v.object({ text, raw: text, url: text, data: v.optional(v.unknown()), filename: text, mediaType: text });
const parts = cutList(part);
const id = v.pipe(v.string(), v.nonEmpty(), v.maxLength(500));
const contextId = v.nullish(v.pipe(v.string(), v.maxLength(500)));
const message = v.object({ contextId, parts });
const task = v.object({
	id,
	contextId,
	status: v.object({ state: v.string(), message: v.nullish(message) }),
	artifacts: cutList(v.object({ parts })),
});
const sent = v.union([v.object({ task }), v.object({ message })]);

export type Part = v.InferOutput<typeof part>;
export type Task = v.InferOutput<typeof task>;
/** The answer to a message: a task, or at once a message. */
export type Answer = v.InferOutput<typeof sent>;

export interface SentMessage {
	/** A message with the same id is the same message. */
	readonly messageId: string;
	readonly text: string;
	readonly contextId?: string;
	/** The task that waits for the message. */
	readonly taskId?: string;
}

/** An agent of another server. The methods throw the errors of `Ask`. */
export interface Remote {
	send(message: SentMessage, limits: Limits): Promise<Answer>;
	read(taskId: string, limits: Limits): Promise<Task>;
	cancel(taskId: string, limits: Limits): Promise<unknown>;
}

export function createRemote(name: string, { url, isRpc, tenant }: AgentInterface, ask: Ask): Remote {
	const toUrl = (path: string): URL => {
		const target = new URL(url);
		const base = target.pathname.replace(/\/+$/, '');
		target.pathname = `${base}${tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`}${path}`;
		return target;
	};
	const call = async (method: string, params: object, limits: Limits): Promise<unknown> => {
		const body = { jsonrpc: '2.0', id: 1, method, params: dropUndefined({ tenant, ...params }) };
		const json = await ask(url, limits, body);
		return isRecord(json) ? json.result : undefined;
	};
	const read = <S extends v.GenericSchema>(schema: S, json: unknown): v.InferOutput<S> => {
		const parsed = v.safeParse(schema, json);
		if (parsed.success) return parsed.output;
		throw new RunletError('invalid_request', `${name}: the agent's server answered with what A2A 1.x does not know.`);
	};
	return {
		send: async ({ text, ...about }, limits) => {
			const message = { ...about, role: 'ROLE_USER', parts: [{ text }] };
			const params = { message: dropUndefined(message), configuration: { returnImmediately: true, historyLength: 0 } };
			return read(
				sent,
				isRpc ? await call('SendMessage', params, limits) : await ask(toUrl('/message:send'), limits, params),
			);
		},
		read: async (taskId, limits) => {
			if (isRpc) return read(task, await call('GetTask', { id: taskId, historyLength: 0 }, limits));
			const target = toUrl(`/tasks/${encodeURIComponent(taskId)}`);
			target.searchParams.set('historyLength', '0');
			return read(task, await ask(target, limits));
		},
		cancel: (taskId, limits) =>
			isRpc
				? call('CancelTask', { id: taskId }, limits)
				: ask(toUrl(`/tasks/${encodeURIComponent(taskId)}:cancel`), limits, {}),
	};
}
