/** Who looks at the page, and what they may do (docs/keys.md, "Who one is"). */

import type { Me } from '../../client/index.ts';

export type Right = Me['rights'][number];

/** What a key with the scope `admin` may do for all owners. */
const rightsOfAdmins: ReadonlySet<Right> = new Set([
	'listSessions',
	'readSession',
	'manageSession',
	'seeInbox',
	'seeUsers',
]);

export interface Viewer {
	/** Missing until the server has said who it is. */
	readonly me: Me | undefined;
	readonly use: (me: Me | undefined) => void;
	readonly may: (right: Right) => boolean;
	/** Whether the viewer has a scope of a key or an account. */
	readonly hasScope: (scope: 'run' | 'admin' | 'keys') => boolean;
}

export function createViewer(): Viewer {
	let me: Me | undefined;
	const hasScope = (scope: string): boolean => me?.scopes.includes(scope) === true;
	return {
		get me() {
			return me;
		},
		use(next) {
			me = next;
		},
		may: (right) => me?.rights.includes(right) === true || (hasScope('admin') && rightsOfAdmins.has(right)),
		hasScope,
	};
}

/** Whether two answers are about the same person, who has perhaps got another key. */
export function isSameViewer(a: Me, b: Me): boolean {
	return a.owner === b.owner && a.user === b.user;
}
