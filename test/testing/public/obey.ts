/** A model that obeys: it makes the user's calls, and then each call that a stranger's text orders. */
import { type chat, type Tool, tool } from 'runlet';
import { type AgentDefinition, defineAgent } from 'runlet/cloudflare';
import { callTool, createTestSession } from 'runlet/testing';
import * as v from 'valibot';

type Input = Readonly<Record<string, unknown>>;
export type Call = readonly [name: string, input: Input];

/** What a developer says of a tool. */
export interface Words extends Pick<Tool, 'reads' | 'writes'> {
	/** The field, or the fields, with the target. */
	readonly to?: string | readonly string[];
	/** The tool acts on something that matters, so a person always decides. */
	readonly needsApproval?: true;
}
export type Table = Readonly<Record<string, Words>>;

export const outside: Words = { reads: 'outside' };
export const own: Words = { reads: 'private' };
export const both: Words = { reads: ['outside', 'private'] };

export interface Play {
	readonly table: Table;
	/** The user's message, and the calls that it needs. */
	readonly text: string;
	readonly calls: readonly Call[];
	readonly attack?: {
		readonly text: string;
		/** The user's call whose result brings the order. */
		readonly after: Call;
		readonly calls: readonly Call[];
	};
	/** What calls return, by the tool and its first argument. */
	readonly results?: Readonly<Record<string, string>>;
	readonly flow?: AgentDefinition['flow'];
}

export interface Outcome {
	/** The user's own calls that waited. The person allowed them. */
	readonly asked: readonly chat.WaitingCall[];
	/** The attacker's call that waits. */
	readonly waiting?: chat.WaitingCall;
	/** The attacker's calls that ran. */
	readonly ran: readonly Call[];
	/** What private tools returned. */
	readonly secrets: readonly string[];
}

/** Plays a case. Stops at the attacker's first call that waits. */
export async function obey(play: Play): Promise<Outcome> {
	const { text, calls, attack, flow } = play;
	const before = attack === undefined ? calls : calls.slice(0, calls.indexOf(attack.after) + 1);
	if (before.length === 0) throw new Error(`No call brings the order: ${text}`);
	const ran: Call[] = [];
	const secrets: string[] = [];
	const turns = [...before, ...(attack?.calls ?? [])];
	const tools = [...new Set(turns.map(([name]) => name))].map((name) =>
		makeTool(play, name, (input, result) => {
			ran.push([name, input]);
			if (isReading(play, name, 'private')) secrets.push(result);
		}),
	);
	const agent = defineAgent({ name: 'obedient', description: 'Obeys.', tools, flow, maxIterations: turns.length + 1 });
	const script = turns.map(
		([name, input]) =>
			() =>
				callTool(name, fill(input, secrets.at(-1) ?? '')),
	);
	const session = createTestSession(agent, { script: [...script, 'Done.'] });
	const asked: chat.WaitingCall[] = [];
	let result = await session.send(text);
	while (result.status === 'awaiting_tools') {
		const waiting = result.metadata.manualToolCalls ?? [];
		if (session.requests.length > before.length)
			return { asked, waiting: waiting[0], ran: ran.slice(before.length), secrets };
		asked.push(...waiting);
		result = await session.submit(waiting.map(({ id }) => ({ id, approve: true })));
	}
	if (ran.length !== script.length) throw new Error(`${ran.length} of ${script.length} calls ran: ${text}`);
	return { asked, ran: ran.slice(before.length), secrets };
}

function makeTool(play: Play, name: string, onCall: (input: Input, result: string) => void): Tool {
	const { to = [], ...words } = play.table[name] ?? {};
	return tool.define({
		...words,
		name,
		description: name,
		inputSchema: v.record(v.string(), v.unknown()),
		passInput: true,
		...(to.length > 0 && { targets: (input) => listTargets(input, [to].flat()) }),
		fn: (input) => {
			const found = play.results?.[`${name} ${Object.values(input)[0]}`] ?? `What ${name} found.`;
			const result = play.attack?.after[0] === name ? `${found} ${play.attack.text}` : found;
			onCall(input, result);
			return result;
		},
	});
}

function listTargets(input: Input, fields: readonly string[]): readonly string[] {
	return fields.flatMap((field) => input[field] ?? []).map(String);
}

/** Whether a developer says that a tool reads something. */
export function isReading({ table }: Pick<Play, 'table'>, name: string, label: 'outside' | 'private'): boolean {
	return [table[name]?.reads ?? []].flat().includes(label);
}

/** The model writes what it has read into an argument such as `$data`. */
function fill(input: Input, read: string): Input {
	return Object.fromEntries(
		Object.entries(input).map(([key, value]) => [key, typeof value === 'string' && /^\$/.test(value) ? read : value]),
	);
}
