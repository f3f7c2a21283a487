import type { Description } from '../wire/description.ts';
import * as descriptions from '../wire/descriptions/index.ts';
import * as webhookDescriptions from '../wire/descriptions/webhooks.ts';
import type { Operation } from '../wire/operation.ts';
import * as operations from '../wire/operations/index.ts';
import * as webhookOperations from '../wire/operations/webhooks.ts';
import * as openaiDescriptions from '../wire/protocols/openai/descriptions.ts';
import * as openaiOperations from '../wire/protocols/openai/operations.ts';

/** An operation with what is said of it. */
export type DescribedOperation = Operation & Description;

/** All operations, of every way in, by their names. It does not compile if nothing is said of one. */
export const described = describe(
	{ ...operations, ...webhookOperations, ...openaiOperations },
	{ ...descriptions, ...webhookDescriptions, ...openaiDescriptions },
);

type Described<O, D extends Readonly<Record<keyof O, unknown>>> = { readonly [Name in keyof O]: O[Name] & D[Name] };

function describe<O extends Readonly<Record<string, Operation>>, D extends Readonly<Record<keyof O, Description>>>(
	operations: O,
	descriptions: D,
): Described<O, D> {
	const all: { [Name in keyof O]?: O[Name] & D[Name] } = {};
	for (const name in operations) all[name] = { ...operations[name], ...descriptions[name] };
	// SAFETY: it has every name of `operations`.
	return all as Described<O, D>;
}
