import { a2a } from './a2a.ts';
import { answers } from './answers.ts';
import { budget } from './budget.ts';
import { copies } from './copies.ts';
import { crowd, leases } from './crowd.ts';
import { cuts } from './cuts.ts';
import { files } from './files.ts';
import { fuzz } from './fuzz.ts';
import { growth } from './growth.ts';
import { kills } from './kills.ts';
import { leave } from './leave.ts';
import { money } from './money.ts';
import { neighbours } from './neighbours.ts';
import { overload } from './overload.ts';
import { people } from './people.ts';
import { points } from './points.ts';
import { prefixes } from './prefixes.ts';
import { responses } from './responses.ts';
import { served } from './served.ts';
import { slow } from './slow.ts';
import type { Figures, Options } from './stage.ts';
import { stops } from './stops.ts';
import { trees } from './trees.ts';
import { webhooks } from './webhooks.ts';

/** The programmes. Each throws if its promise is broken. The defaults are the long forms. */
export const programmes = {
	kills,
	/** `kills` without budgets. */
	uncapped: (options: Options) => kills(options, { SESSION_BUDGET_TOKENS: 'none', DAY_BUDGET_TOKENS: 'none' }),
	trees,
	served,
	stops,
	answers,
	points,
	cuts,
	responses,
	a2a,
	leave,
	slow,
	crowd,
	leases,
	growth,
	budget,
	/** `budget` with an owner whose ledger is split. */
	shards: (options: Options) => budget(options, { LARGE_OWNERS: 'local' }),
	webhooks,
	files,
	fuzz,
	neighbours,
	overload,
	people,
	money,
	prefixes,
	copies,
} satisfies Readonly<Record<string, (options: Options) => Promise<Figures>>>;

export function report(name: string, figures: Figures, ms: number): void {
	const lines = Object.entries({ ...figures, 'took, seconds': (ms / 1_000).toFixed(1) });
	const width = Math.max(...lines.map(([label]) => label.length));
	console.log([name, ...lines.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`), ''].join('\n'));
}
