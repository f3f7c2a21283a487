import * as v from 'valibot';
import { type Actor, ways } from '../../core/base/actor.ts';

/** Somebody as an earlier version stored them: `sender` is a webhook or a schedule. */
const person = v.object({ via: v.picklist(['key', 'account', 'token', 'link', 'sender']), id: v.string() });

const entries = { owner: v.string(), user: v.optional(v.string()), via: v.picklist(ways), id: v.string() };

/** An actor in a row. */
export const actorSchema: v.GenericSchema<unknown, Actor> = v.object({
	...entries,
	madeBy: v.optional(v.lazy(() => actorSchema)),
});

/**
 * Reads an actor from a row. One that an earlier version stored names no owner: it is that of the session.
 *
 * @param owner the owner of the session
 */
export function toActor(stored: unknown, owner: string): Actor | undefined {
	const read = v.safeParse(actorSchema, stored);
	if (read.success) return read.output;
	const before = v.safeParse(person, stored);
	if (!before.success) return undefined;
	const { via, id } = before.output;
	return { owner, via: via === 'sender' ? 'webhook' : via, id };
}

/** Reads a list of actors from a row. */
export function toActors(stored: unknown, owner: string): readonly Actor[] {
	return Array.isArray(stored) ? stored.flatMap((one) => toActor(one, owner) ?? []) : [];
}

/** The name of a person in an owner, as a product or a key gives it. It is compared exactly as it is. */
export const userName = v.pipe(
	v.string(),
	v.regex(
		/^(?!\p{Z}|\.{1,2}$)[^\p{C}]{1,200}(?<!\p{Z})$/u,
		'expected 1 to 200 characters without control characters and no space at its ends, and neither . nor ..',
	),
);
