import { hashText } from '../../../core/base/bytes.ts';
import type { DirectoryQuery } from './api.ts';

/** Returns words for an index: hashes of the agent and the user of a session. */
export function toWhose(agent: string, user: string | undefined): string {
	return `${toWord('a', agent)} ${toWord('u', user)}`;
}

/** Returns the terms of an FTS5 query for the sessions of an agent or a user. */
export function matchWhose({ agent, user }: Pick<DirectoryQuery, 'agent' | 'user'>): readonly string[] {
	return [
		...(agent === undefined ? [] : [matchAgents([agent])]),
		...(user === undefined ? [] : [`whose : ${toWord('u', user)}`]),
	];
}

/** Returns the term of an FTS5 query for the sessions of some agents. */
export function matchAgents(agents: readonly string[]): string {
	return `whose : (${agents.map((agent) => toWord('a', agent)).join(' OR ')})`;
}

function toWord(kind: string, name: string | null = ''): string {
	return kind + hashText(name ?? '');
}
