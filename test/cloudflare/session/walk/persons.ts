/** The people of the walk, the marks in their texts, and their credentials. */
import type { Actor } from '../../../../src/core/base/actor.ts';

/** Two tenants, and an owner for operators with the scope `admin`. */
export const owners = ['walk-a', 'walk-b', 'walk-o'] as const;

/** The people, with the same names in both tenants. */
export const users = ['kim', 'lee', 'max'] as const;

/** A person in a tenant, or the tenant itself without a user. */
export interface Person {
	readonly owner: string;
	readonly user?: string;
}

/** Names a person. */
export function toName({ owner, user }: Person): string {
	return `${owner.at(-1)}-${user ?? 'non'}`;
}

/** The form of marks. All have one length, so that a mark can replace another mark in an export. */
const marks = /zq-([abox]-(?:kim|lee|max|non))-[0-9a-z]{5}/g;
let made = 0;

/** Creates a mark: a unique word with the name of the person whose text it marks. */
export function makeMark(person: Person | undefined): string {
	const name = person === undefined ? 'x-non' : toName(person);
	return `zq-${name}-${(made++).toString(36).padStart(5, '0')}`;
}

/** Lists the marks in a text, each once. */
export function listMarks(text: string): readonly string[] {
	return [...new Set(text.match(marks))];
}

/** Lists the names of the persons whose marks are in a text. */
export function listNames(text: string): readonly string[] {
	return [...new Set(listMarks(text).map((mark) => mark.slice(3, 8)))];
}

/** Replaces all marks in a text. */
export function replaceMarks(text: string, mark: string): string {
	return text.replace(marks, mark);
}

/**
 * Returns the names under which an actor counts as a person (docs/keys.md, "Actors"): a token or a link also counts as
 * its maker, and an owner's keys and accounts without a user are one person.
 */
function listPersons({ madeBy, ...actor }: Actor): readonly string[] {
	const makers = madeBy === undefined ? [] : listPersons(madeBy);
	if (actor.user !== undefined) return [...makers, `${actor.owner}/${actor.user}`];
	if (madeBy !== undefined) return makers;
	return [
		['key', 'account', 'mcp'].includes(actor.via) ? `${actor.owner}/` : `${actor.owner}/${actor.via}/${actor.id}`,
	];
}

/** Whether two actors are one person by the documentation. */
export function areOne(one: Actor, other: Actor): boolean {
	return listPersons(one).some((name) => listPersons(other).includes(name));
}

/** Whether two values are the same JSON, with fields in any order. */
export function isEqual(one: unknown, other: unknown): boolean {
	return toText(one) === toText(other);
}

function toText(value: unknown): string {
	return (
		JSON.stringify(value, (_, one) =>
			one !== null && typeof one === 'object' && !Array.isArray(one)
				? Object.fromEntries(Object.entries(one).sort())
				: one,
		) ?? ''
	);
}
