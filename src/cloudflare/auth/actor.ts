import * as v from 'valibot';
import { type Actor, ways } from '../../core/base/actor.ts';

const entries = { owner: v.string(), user: v.optional(v.string()), via: v.picklist(ways), id: v.string() };

export const actorSchema: v.GenericSchema<unknown, Actor> = v.object({
	...entries,
	madeBy: v.optional(v.lazy(() => actorSchema)),
});

export function toActor(stored: unknown): Actor | undefined {
	const read = v.safeParse(actorSchema, stored);
	return read.success ? read.output : undefined;
}

export function toActors(stored: unknown): readonly Actor[] {
	return Array.isArray(stored) ? stored.flatMap((one) => toActor(one) ?? []) : [];
}

/** The name of a person in an owner. It is compared exactly. */
export const userName = v.pipe(
	v.string(),
	v.regex(
		/^(?!\p{Z}|\.{1,2}$)[^\p{C}]{1,200}(?<!\p{Z})$/u,
		'expected 1 to 200 characters without control characters and no space at its ends, and neither . nor ..',
	),
);
