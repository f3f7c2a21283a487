import type { Divergence, DivergenceKind } from './divergence.ts';

const titles: Readonly<Record<DivergenceKind, string>> = {
	agent: 'The agent is missing',
	settings: 'A setting of the agent differs',
	system: 'The system prompt differs',
	tools: 'The tools that the model is sent differ',
	model: 'The model is asked again where the recorded run ended',
	call: 'A call is handled differently',
	result: 'The result of a call differs',
	note: 'A note of a tool is new',
	message: 'A message differs',
	end: 'The end of a run differs',
};

/** Writes a difference for a person: what differs, where, both sides, and the lines of the agent and the tool. */
export async function writeReport(divergence: Divergence): Promise<string> {
	const { kind, path, run, message, tool, field, recorded, replayed } = divergence;
	const agent = path.at(-1) ?? '';
	const places = await findPlaces([tool, agent].filter((name) => name !== undefined));
	const where = [
		`agent ${path.join(' > ')}`,
		...(tool === undefined ? [] : [`tool ${tool}`]),
		...(run === undefined ? [] : [run]),
		...(message === undefined ? [] : [`message ${message}`]),
	];
	return [
		`${titles[kind]}: ${field}`,
		`  in        ${where.join(', ')}`,
		...describeBoth(recorded, replayed),
		...places.map((place) => `  at        ${place}`),
	].join('\n');
}

/** The most characters of a value in a report. */
const longest = 400;

function describeBoth(recorded: unknown, replayed: unknown): readonly string[] {
	const [before, after] = [toText(recorded), toText(replayed)];
	const from = Math.max(0, countEqual(before, after) - 60);
	const cut = (text: string) => {
		const piece = text.slice(from, from + longest);
		return `${from > 0 ? '…' : ''}${piece}${from + longest < text.length ? '…' : ''}`;
	};
	return [`  recorded  ${cut(before)}`, `  now       ${cut(after)}`];
}

function toText(value: unknown): string {
	if (value === undefined) return '(nothing)';
	return typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
}

function countEqual(one: string, other: string): number {
	let at = 0;
	while (at < one.length && one[at] === other[at]) at++;
	return at === one.length && at === other.length ? 0 : at;
}

/** Finds the lines of the working folder that name an agent or a tool. Without files, as in a Worker, finds none. */
async function findPlaces(names: readonly string[]): Promise<readonly string[]> {
	try {
		const { findNames } = await import('./places.ts');
		return findNames(names);
	} catch {
		return [];
	}
}
