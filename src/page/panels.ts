import { inbox } from './inbox/panel.ts';
import { memory } from './memory/panel.ts';
import type { Panel } from './parts/panel.ts';
import { schedules } from './schedules/panel.ts';
import { servers } from './servers/panel.ts';
import { sessions } from './sessions/panel.ts';
import { skills } from './skills/panel.ts';
import { spending } from './spending/panel.ts';
import { tools } from './tools/panel.ts';

/** The panels of the page, in the order of the menu. */
export const panels: readonly Panel[] = [inbox, sessions, memory, schedules, skills, tools, servers, spending];
