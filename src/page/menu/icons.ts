/** The icons of the foot of the menu. */

import more from 'lucide/dist/esm/icons/chevrons-up-down.mjs';
import key from 'lucide/dist/esm/icons/key-round.mjs';
import machine from 'lucide/dist/esm/icons/laptop.mjs';
import leave from 'lucide/dist/esm/icons/log-out.mjs';
import system from 'lucide/dist/esm/icons/monitor.mjs';
import dark from 'lucide/dist/esm/icons/moon.mjs';
import light from 'lucide/dist/esm/icons/sun.mjs';

export const icons = { more, key, leave, machine, system, dark, light };
