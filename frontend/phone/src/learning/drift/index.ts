/** The drift detectors that a plan can choose from: kinds inside a kind, a hyperparameter of `help`. */
import { Registry } from "../kinds";
import { adwin } from "./adwin";
import { controlChart } from "./control_chart";
import type { Detector } from "./detector";
import { pageHinkley } from "./page_hinkley";
import { window } from "./window";

export const DRIFT = new Registry<Detector>("drift", [adwin, controlChart, pageHinkley, window]);
