/** Compares what a run recorded with what its replay produced. */

import { readSettings } from '../cloudflare/agent/settings.ts';
import type { Setup } from '../cloudflare/session/store/setup.ts';
import { readResultName } from '../core/chat/old-results.ts';
import type { chat } from '../core/index.ts';
import { type Difference, type Divergence, findDifference } from './divergence.ts';
import { findRunMessages, type RecordedReply, type RecordedResult } from './history.ts';
import type { RecordedRun, Recording } from './recording.ts';
import type { ReplayedSession } from './session.ts';
import { findTurn, loopErrors, type Produced, type ReplayedRun, toKey } from './tape.ts';

type Found = Pick<Divergence, 'kind' | 'message' | 'tool'> & Difference;

/** Returns the first difference between a recorded run and its replay. */
export function compareRun(session: ReplayedSession, run: RecordedRun, replayed: ReplayedRun): Found | undefined {
	return new Comparison(session, run, replayed).find();
}

class Comparison {
	readonly #session: ReplayedSession;
	readonly #run: RecordedRun;
	readonly #replayed: ReplayedRun;
	/** The recorded notes that the replay has not shown yet. Parallel calls show them in any order. */
	readonly #notes: unknown[];

	constructor(session: ReplayedSession, run: RecordedRun, replayed: ReplayedRun) {
		this.#session = session;
		this.#run = run;
		this.#replayed = replayed;
		const { messages } = session.recording;
		const sides = messages.flatMap(({ runId, stored }) => (runId === run.id ? (stored?.before ?? []) : []));
		this.#notes = toNotes([...sides, ...(run.stored.end?.before ?? [])]).map((note) => session.mask(note));
	}

	find(): Found | undefined {
		const { unknown, isCutOff, end } = this.#replayed;
		const replies = [...this.#replayed.replies];
		const repairs = [...this.#replayed.repairs];
		const results = new Map(this.#replayed.results);
		for (const recorded of findRunMessages(this.#session.recording, this.#run).produced) {
			let found: Found | undefined;
			if (recorded.role === 'assistant') found = this.#compareReply(recorded, replies.shift());
			else if (recorded.role === 'tool') {
				const key = toKey(findTurn(recorded), recorded.toolCallId);
				found = this.#compareResult(recorded, results.get(key));
				results.delete(key);
			} else found = this.#differ('message', recorded.content, repairs.shift()?.message.content, 'content');
			if (found !== undefined) return { message: recorded.id, ...found };
		}
		const [result] = results.values();
		if (result !== undefined) return this.#describeExtra(result);
		if (unknown !== undefined) return this.#describeUnknown(unknown);
		const [extra] = [...replies, ...repairs];
		if (extra !== undefined)
			return { kind: 'message', field: 'messages', recorded: undefined, replayed: extra.message };
		return isCutOff ? undefined : this.#compareEnd(end);
	}

	#differ(kind: Found['kind'], recorded: unknown, replayed: unknown, field?: string): Found | undefined {
		const { mask } = this.#session;
		const found = findDifference(mask(toJson(recorded)), mask(toJson(replayed)), field);
		return found && { kind, ...found };
	}

	#compareReply(recorded: RecordedReply, produced: Produced | undefined): Found | undefined {
		if (produced === undefined) {
			const reply = { content: recorded.content, toolCalls: recorded.toolCalls };
			return { kind: 'end', field: 'end', recorded: reply, replayed: this.#replayed.end };
		}
		const { message, about } = produced;
		const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
		return (
			this.#compareSetup(this.#session.setups.get(recorded.id) ?? {}, about) ??
			this.#differ('message', recorded.content, message.content, 'content') ??
			this.#differ('message', recorded.toolCalls ?? [], calls, 'toolCalls')
		);
	}

	/** Compares what the model was sent. Recordings of earlier versions lack it. */
	#compareSetup(recorded: Setup, { sent }: chat.MessageContext): Found | undefined {
		const { settings, system } = recorded;
		const tools = recorded.tools?.filter(isCompared);
		const now = sent?.tools?.filter(isCompared) ?? [];
		const found =
			(settings && this.#differ('settings', settings, readSettings(this.#session.agent), 'settings')) ??
			(system === undefined ? undefined : this.#differ('system', system, sent?.system ?? '', 'system')) ??
			(tools && this.#differ('tools', byName(tools), byName(now), 'tools')) ??
			(tools && this.#differ('tools', toNames(tools), toNames(now), 'tools'));
		if (found?.kind !== 'tools') return found;
		const [, tool] = /^tools\.([^.[]+)/.exec(found.field) ?? [];
		return { ...found, ...(tool !== undefined && { tool }) };
	}

	#compareResult(recorded: RecordedResult, produced: Produced | undefined): Found | undefined {
		const tool = findToolName(this.#session.recording, recorded.toolCallId);
		if (produced?.message.role !== 'tool') {
			const { end, isCutOff } = this.#replayed;
			if (isCutOff) return undefined;
			return { kind: 'call', tool, field: `calls.${tool}`, recorded: recorded.content, replayed: end };
		}
		// In a replay the call is not cut off.
		if (recorded.stored?.isCutOff === true) return undefined;
		const { message, about } = produced;
		const found =
			this.#differ('result', recorded.content ?? null, message.content ?? null, 'content') ??
			this.#differ('result', recorded.isError === true, message.isError === true, 'isError') ??
			this.#differ('result', recorded.ranWith, message.ranWith, 'ranWith') ??
			this.#differ('result', recorded.stored?.haltedReason, about.haltedReason, 'haltedReason') ??
			// A crash can lose the notes of a call.
			(this.#run.lives === 1 ? this.#compareNotes(about) : undefined);
		return found && { tool, ...found };
	}

	/** Finds a note that the recording lacks. The recording also has the notes of tools that do not run in a replay. */
	#compareNotes({ before }: chat.MessageContext): Found | undefined {
		for (const note of toNotes(before)) {
			const at = this.#notes.indexOf(this.#session.mask(note));
			if (at === -1) return { kind: 'note', field: 'notes', recorded: this.#notes, replayed: note };
			this.#notes.splice(at, 1);
		}
		return undefined;
	}

	/** Describes a result of a call that has none in the recorded run. */
	#describeExtra({ message }: Produced): Found {
		const callId = message.role === 'tool' ? message.toolCallId : '';
		const tool = findToolName(this.#session.recording, callId);
		const recorded = this.#run.stored.end?.event;
		return { kind: 'call', tool, field: `calls.${tool}`, recorded, replayed: message.content };
	}

	#describeUnknown({ what, callId, tool }: NonNullable<ReplayedRun['unknown']>): Found {
		const recorded = this.#run.stored.end?.event;
		if (what === 'model') return { kind: 'model', field: 'end', recorded, replayed: 'the model is asked again' };
		return { kind: 'call', tool, field: `calls.${tool ?? callId}`, recorded, replayed: 'the call runs' };
	}

	#compareEnd(replayed: chat.TerminalEvent): Found | undefined {
		const { end } = this.#run.stored;
		if (end === undefined || isForeign(end.event)) return undefined;
		return this.#differ('end', describeEnd(end.event), describeEnd(replayed), 'end');
	}
}

/** Whether a tool is compared. `read_result` is offered where old results are long, which the time decides, too. */
function isCompared({ name }: { readonly name: string }): boolean {
	return name !== readResultName;
}

function toJson(value: unknown): unknown {
	return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function byName(
	tools: readonly { readonly name: string; readonly description?: string; readonly inputSchema?: unknown }[],
) {
	return Object.fromEntries(tools.map(({ name, description, inputSchema }) => [name, { description, inputSchema }]));
}

function toNames(tools: readonly { readonly name: string }[]): readonly string[] {
	return tools.map(({ name }) => name);
}

function toNotes(sides: readonly chat.SideEvent[]): readonly string[] {
	return sides.flatMap((side) =>
		side.type === 'note' ? [`${side.label}${side.detail === undefined ? '' : `: ${side.detail}`}`] : [],
	);
}

function findToolName({ messages }: Recording, callId: string): string {
	for (const message of messages.toReversed()) {
		const call = message.role === 'assistant' ? message.toolCalls?.find(({ id }) => id === callId) : undefined;
		if (call !== undefined) return call.name;
	}
	return callId;
}

/** Whether a run ended for a reason that a replay does not have: a cancel, a crash, a provider, storage or a budget. */
function isForeign(event: chat.TerminalEvent): boolean {
	return event.type === 'cancelled' || (event.type === 'error' && !loopErrors.has(event.code));
}

/** The parts of an end that do not depend on times and prices. */
function describeEnd(event: chat.TerminalEvent): unknown {
	switch (event.type) {
		case 'awaiting': {
			const calls = (event.toolCalls ?? []).map(({ id, name, kind = 'result' }) => ({ id, name, kind }));
			const { callId, question } = event.question ?? {};
			return { type: event.type, status: event.status, calls, callId, question };
		}
		case 'halted':
			return { type: event.type, reason: event.reason };
		case 'error':
			return { type: event.type, code: event.code };
		default:
			return { type: event.type };
	}
}
