/** The short forms of `npm run endurance`. */
import { describe, test } from 'vitest';
import { answers } from '../endurance/answers.ts';
import { budget } from '../endurance/budget.ts';
import { crowd } from '../endurance/crowd.ts';
import { cuts } from '../endurance/cuts.ts';
import { files } from '../endurance/files.ts';
import { fuzz } from '../endurance/fuzz.ts';
import { kills } from '../endurance/kills.ts';
import { leave } from '../endurance/leave.ts';
import { neighbours } from '../endurance/neighbours.ts';
import { overload } from '../endurance/overload.ts';
import { points } from '../endurance/points.ts';
import { served } from '../endurance/served.ts';
import { show, timeout } from '../endurance/short.ts';
import { stops } from '../endurance/stops.ts';
import { webhooks } from '../endurance/webhooks.ts';

// Each has a server of its own, and waits more than it works.
describe.concurrent('at once', () => {
	test('a tool that takes an answer has its effect once, also when it is killed', { timeout }, () =>
		show('answers', answers({ count: 2 })),
	);

	test('runs survive a crash right after each of their writes', { timeout }, () =>
		show('points', points({ count: 1 })),
	);

	test('a reader that is cut anywhere reads what is stored, each event once', { timeout }, () =>
		show('cuts', cuts({ count: 50, kills: 2 })),
	);

	test('a run completes when its client leaves', { timeout }, () => show('leave', leave({ count: 20 })));

	test('a crowd of sessions that begin at once has no failure', { timeout }, () =>
		show('crowd', crowd({ count: 100 })),
	);

	test('runs at once on one budget never pass it, also when they are killed', { timeout }, () =>
		show('budget', budget({ count: 10, kills: 3 })),
	);

	test('no change of files is half made or made twice, wherever the server is killed', { timeout }, () =>
		show('files', files({ count: 5 })),
	);

	test('no request makes the Worker fail, however it is made', { timeout }, () => show('fuzz', fuzz({ count: 1_000 })));

	test('five deliveries of each webhook at once begin one run, also when the server is killed', { timeout }, () =>
		show('webhooks', webhooks({ count: 500, kills: 3 })),
	);
});

// What it measures is how long others wait.
test('no tenant makes the requests of another one fail, whatever it asks for, and its own calls end', { timeout }, () =>
	show('neighbours', neighbours({ count: 1 })),
);

test(
	'an owner who asks for ten times too much has what its ledger can do, and is refused the rest at once',
	{
		timeout,
	},
	() => show('overload', overload({ count: 10 })),
);

// All three compare charges for calls that are cut off with the bill, by the clock: they run when no other form needs the processor.
test('runs survive kills at random moments, though nobody asks for them', { timeout }, () =>
	show('kills', kills({ count: 20 })),
);

test('answers that are stopped are charged what they cost, with and without a budget', { timeout }, () =>
	show('stops', stops({ count: 10 })),
);

test('runs with tools of an MCP server survive kills, and no tool that is not safe is called twice', { timeout }, () =>
	show('served', served({ count: 4 })),
);
