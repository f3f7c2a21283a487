import type { Input } from '../../objects/session-api.ts';
import type { SessionStore } from '../store/store.ts';
import type { Step } from './gate.ts';

/**
 * What came of a child that works in the background: what it cost, and once a message, which `decide` handles; none where
 * nobody wants to know any more.
 */
export function decideReport(
	{ calls }: Pick<SessionStore, 'calls'>,
	{ id, spent }: NonNullable<Input['ofChild']>,
	decide: () => Step,
): Step {
	const child = calls.children.listOpen().find((one) => one.id === id);
	if (child === undefined) return nothing;
	const step = child.isLeft ? nothing : decide();
	return {
		...step,
		store: () => {
			calls.children.settle(id, spent);
			return step.store();
		},
	};
}

const nothing: Step = { store: () => () => undefined };
