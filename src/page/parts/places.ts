/** The icons of the panels, and the groups in which the menu has them. */

import type { PageIconName } from './page-icon.ts';

export const groups = ['Work', 'Build', 'Watch'] as const;

interface PlaceLook {
	readonly icon: PageIconName;
	readonly group: (typeof groups)[number];
}

const looks: Readonly<Record<string, PlaceLook>> = {
	inbox: { icon: 'inbox', group: 'Work' },
	sessions: { icon: 'bubbles', group: 'Work' },
	memory: { icon: 'memory', group: 'Work' },
	agents: { icon: 'bot', group: 'Build' },
	skills: { icon: 'book', group: 'Build' },
	tools: { icon: 'tool', group: 'Build' },
	servers: { icon: 'plug', group: 'Build' },
	schedules: { icon: 'clock', group: 'Watch' },
	feedback: { icon: 'thumbsUp', group: 'Watch' },
	spending: { icon: 'chart', group: 'Watch' },
	runs: { icon: 'trace', group: 'Watch' },
	team: { icon: 'team', group: 'Watch' },
};

/** Returns how the menu shows a panel. */
export function findLook(name: string): PlaceLook {
	return looks[name] ?? { icon: 'bubbles', group: 'Watch' };
}
