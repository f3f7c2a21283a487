import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { type Agent, blameAgent } from '../agent/define.ts';

const schema = v.object({
	onWaiting: v.optional(
		v.strictObject({
			callback: v.pipe(v.string(), v.url('must be a URL'), v.maxLength(2_048)),
			links: v.optional(v.boolean('must be true or false')),
			for: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200))),
		}),
	),
});

/** Throws `invalid_agent`, which names the field. */
export function assertWaiting({ name, onWaiting }: Agent): void {
	blameAgent(name, () => check(schema, { onWaiting }, 'agent', 'invalid_agent'));
}
