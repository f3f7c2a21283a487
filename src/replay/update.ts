import { readSettings } from '../cloudflare/agent/settings.ts';
import type { Setup } from '../cloudflare/session/store/setup.ts';
import type { chat } from '../core/index.ts';
import { type ReplayClock, startClock } from './clock.ts';
import { findDifference } from './divergence.ts';
import { findRunMessages } from './history.ts';
import { type RecordedMessage, type Recording, readRecording } from './recording.ts';
import { replayRun } from './run.ts';
import { openSession, type ReplayedSession, type ReplayOptions } from './session.ts';
import { findTurn, type Produced, toKey } from './tape.ts';

/**
 * Replays a recording, and returns it with what is different now: the prompts, tools and settings, and the results of
 * live tools. A replay that takes another way, such as a call that does not wait any more, cannot be written: record
 * the session again.
 */
export async function updateRecording(recording: unknown, options: ReplayOptions): Promise<Recording> {
	const clock = startClock();
	try {
		return await update(readRecording(recording), options, clock);
	} finally {
		clock.stop();
	}
}

async function update(recording: Recording, options: ReplayOptions, clock: ReplayClock): Promise<Recording> {
	const children: Recording[] = [];
	for (const child of recording.children ?? []) children.push(await update(child, options, clock));
	const session = openSession(recording, options, clock);
	const messages = session === undefined ? recording.messages : await updateMessages(session);
	return { ...recording, messages, ...(children.length > 0 && { children }) };
}

async function updateMessages(session: ReplayedSession): Promise<RecordedMessage[]> {
	const { recording, agent, setups } = session;
	const now = new Map<string, Produced>();
	for (const run of recording.runs) {
		const { replies, results } = await replayRun(session, run);
		let next = 0;
		for (const message of findRunMessages(recording, run).produced) {
			const produced = message.role === 'tool' ? results.get(toKey(findTurn(message), message.toolCallId)) : undefined;
			const found = message.role === 'assistant' ? replies[next++] : produced;
			if (found !== undefined) now.set(message.id, found);
		}
	}
	let last: Setup = {};
	return recording.messages.map((message) => {
		const produced = now.get(message.id);
		if (message.role === 'tool' && produced?.message.role === 'tool') {
			const { content, isError } = produced.message;
			return { ...message, content, ...((isError === true || message.isError === true) && { isError }) };
		}
		if (message.role !== 'assistant') return message;
		const recorded = setups.get(message.id) ?? {};
		const whole = produced === undefined ? recorded : toSetup(produced.about, recorded, readSettings(agent));
		const setup = findChanges(last, whole);
		last = whole;
		const { setup: _, ...stored } = message.stored ?? {};
		const hasChanges = Object.keys(setup).length > 0;
		return { ...message, stored: { ...stored, ...(hasChanges && { setup }) } };
	});
}

function toSetup(
	{ sent = {} }: chat.MessageContext,
	{ tools: before = [] }: Setup,
	settings: Setup['settings'],
): Setup {
	const loaded = new Set(before.flatMap(({ name, isLoaded }) => (isLoaded === true ? [name] : [])));
	const tools = (sent.tools ?? []).map(({ name, description, inputSchema }) => ({
		...{ name, description, inputSchema },
		...(loaded.has(name) && { isLoaded: true as const }),
	}));
	return { system: sent.system ?? '', tools, settings };
}

/** Returns the fields that differ from the setup before. */
function findChanges(before: Setup, { system, tools, settings }: Setup) {
	return {
		...(system !== before.system && { system }),
		...(findDifference(before.tools, tools) !== undefined && { tools: [...(tools ?? [])] }),
		...(findDifference(before.settings, settings) !== undefined && { settings: { ...settings } }),
	};
}
