import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { parseJson } from '../../../core/base/json.ts';
import type { Config } from '../../config/config.ts';

/** The `state` in the link of a login. */
const returning = v.object({ owner: v.string(), user: v.optional(v.string()), name: v.string(), id: v.string() });
export type Returning = v.InferOutput<typeof returning>;

const about = 'the state of a login';

/** Seals a `state`. Nobody else can read or make a `state`. */
export function sealState(config: Config, login: Returning): Promise<string> {
	return config.findSecretsBox().seal(JSON.stringify(login), about);
}

/** Returns undefined for a `state` that this Worker did not make, or if the Worker has no key. */
export async function openState(config: Config, sealed: string): Promise<Returning | undefined> {
	try {
		const opened = await config.findSecretsBox().open(sealed, about);
		return opened === undefined ? undefined : v.parse(returning, parseJson(opened));
	} catch (error) {
		if (error instanceof RunletError && error.code === 'not_configured') return undefined;
		throw error;
	}
}
