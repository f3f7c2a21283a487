import { listWords } from '../../cloudflare/objects/memory/search.ts';
import type { Recording } from '../../replay/recording.ts';

/** Finds the recorded child of an agent with the most similar task. Of equal ones the first counts, and none counts twice. */
export function findChild(
	{ children = [] }: Recording,
	agent: string,
	task: string,
	used: ReadonlySet<Recording>,
): Recording | undefined {
	return children
		.filter((child) => child.session.agent === agent && !used.has(child))
		.map((child) => ({ child, likeness: compareTexts(findTask(child), task) }))
		.toSorted((one, other) => other.likeness - one.likeness)[0]?.child;
}

/** Makes the recording of a child that has recorded nothing. */
export function createEmptyChild(parent: Recording, agent: string): Recording {
	const { clientTools: _, ...session } = parent.session;
	return { ...parent, session: { ...session, agent }, runs: [], messages: [], children: [] };
}

function findTask({ messages }: Recording): string {
	const task = messages.find(({ role }) => role === 'user')?.content;
	return typeof task === 'string' ? task : '';
}

/** Returns the share of the words that two texts have in common. Equal texts have more than any others. */
function compareTexts(one: string, other: string): number {
	if (one === other) return 2;
	const listOwn = (text: string) => new Set(listWords(text).map(({ word }) => word));
	const [here, there] = [listOwn(one), listOwn(other)];
	const shared = [...here].filter((word) => there.has(word)).length;
	const all = here.size + there.size - shared;
	return all === 0 ? 0 : shared / all;
}
