import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { parseJson } from '../../../core/base/json.ts';
import type { Config } from '../../config/config.ts';

/** Which link of whose login comes back. */
const returning = v.object({ owner: v.string(), user: v.optional(v.string()), name: v.string(), id: v.string() });
export type Returning = v.InferOutput<typeof returning>;

/** What it is sealed for. */
const about = 'the state of a login';

/** Makes the `state` of a link. Nobody can read it or make one. */
export function sealState(config: Config, given: Returning): Promise<string> {
	return config.findSecretsBox().seal(JSON.stringify(given), about);
}

/** Reads a `state` that came back. Nothing for one that this Worker did not make, as if it has no key to make any. */
export async function openState(config: Config, sealed: string): Promise<Returning | undefined> {
	try {
		const opened = await config.findSecretsBox().open(sealed, about);
		return opened === undefined ? undefined : v.parse(returning, parseJson(opened));
	} catch (error) {
		if (error instanceof RunletError && error.code === 'not_configured') return undefined;
		throw error;
	}
}
